-- One function raises the version of the rulebook, for a tenant and for the installation.
SET LOCAL lock_timeout = '3s';

-- Raises the version of the rulebook and returns it. Locks the row that all tenants share until the end of the transaction.
CREATE FUNCTION weir_raise_rulebook_version() RETURNS bigint
LANGUAGE sql
AS $$
    UPDATE public.rulebook_versions r SET version = r.version + 1 RETURNING r.version
$$;

CREATE OR REPLACE FUNCTION weir_publish(tenant uuid, answer_key text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    raised bigint;
    number bigint;
BEGIN
    IF EXISTS (SELECT FROM public.tenants t WHERE t.id = tenant AND NOT t.unpublished)
        OR EXISTS (SELECT FROM public.deleted_tenants d WHERE d.tenant_id = tenant)
    THEN
        RETURN NULL;
    END IF;
    raised := public.weir_raise_rulebook_version();
    UPDATE public.tenants t
    SET
        version = raised,
        removed_version = CASE WHEN t.unpublished_removal THEN raised ELSE t.removed_version END,
        unpublished = false,
        unpublished_removal = false
    WHERE t.id = tenant
    RETURNING t.sequence INTO number;
    IF FOUND THEN
        INSERT INTO public.tenant_changes (tenant_id, sequence, rulebook_version)
        VALUES (tenant, number, raised);
    ELSE
        INSERT INTO public.deleted_tenants (tenant_id, version, deleted_at)
        VALUES (tenant, raised, now());
    END IF;
    IF answer_key IS NOT NULL THEN
        UPDATE public.idempotency_keys k
        SET body = jsonb_set(k.body, '{rulebook_version}', to_jsonb(raised))
        WHERE k.owner_id = tenant AND k.key = answer_key
            AND jsonb_typeof(k.body) = 'object' AND k.body ? 'rulebook_version';
    END IF;
    RETURN raised;
END
$$;

CREATE OR REPLACE FUNCTION weir_publish_installation() RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    raised bigint;
BEGIN
    IF EXISTS (SELECT FROM public.installation i WHERE i.unpublished) THEN
        raised := public.weir_raise_rulebook_version();
        UPDATE public.installation SET unpublished = false;
    END IF;
    RETURN raised;
END
$$;

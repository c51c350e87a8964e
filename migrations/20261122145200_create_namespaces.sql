-- The settings of namespaces. A namespace without a row has the defaults.
SET LOCAL lock_timeout = '3s';

CREATE TABLE namespaces (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    -- The attributes by whose values the counters are spread; sorted. Empty: all counters are at one place.
    spread_by text[] NOT NULL,
    revision bigint NOT NULL,
    sequence bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT namespaces_tenant_id_name_pkey PRIMARY KEY (tenant_id, name),
    CONSTRAINT namespaces_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

ALTER TABLE namespaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE namespaces FORCE ROW LEVEL SECURITY;
CREATE POLICY namespaces_tenant ON namespaces TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY namespaces_gate ON namespaces FOR SELECT TO weir_gate
    USING (true);
-- For the function below, which runs as the owner.
CREATE POLICY namespaces_owner ON namespaces FOR SELECT TO CURRENT_USER
    USING (true);

GRANT SELECT, INSERT, UPDATE ON namespaces TO weir_app;
GRANT SELECT ON namespaces TO weir_gate;

-- No row is ever removed, except with its tenant.
CREATE TRIGGER namespaces_note_row
    BEFORE INSERT OR UPDATE ON namespaces
    FOR EACH ROW EXECUTE FUNCTION weir_note_row();

-- Deletes changes that are older than the newest 10,000 versions and to which no row refers. Returns how many.
CREATE OR REPLACE FUNCTION weir_delete_old_changes() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    deleted bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_delete_old_changes', 0)) THEN
        RETURN 0;
    END IF;
    DELETE FROM public.tenant_changes c
    WHERE c.rulebook_version <= (SELECT r.version - 10000 FROM public.rulebook_versions r)
        AND NOT EXISTS (
            SELECT FROM public.rules r
            WHERE r.tenant_id = c.tenant_id AND r.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.overrides o
            WHERE o.tenant_id = c.tenant_id AND o.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.api_keys k
            WHERE k.tenant_id = c.tenant_id AND k.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.profiles p
            WHERE p.tenant_id = c.tenant_id AND p.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.namespaces n
            WHERE n.tenant_id = c.tenant_id AND n.sequence = c.sequence
        );
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;

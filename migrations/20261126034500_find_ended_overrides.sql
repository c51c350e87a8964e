-- Overrides that ended are deleted after a day, so that the table is bounded. Each tenant's are deleted in its own scope,
-- as by the tenant itself, so this function only finds the tenants.
SET LOCAL lock_timeout = '3s';

CREATE INDEX overrides_expires_at_idx ON overrides (expires_at)
    WHERE managed_by IS NULL AND expires_at IS NOT NULL;

-- The tenants of up to `most` overrides that ended before `until` and belong to no set of rules as code.
CREATE FUNCTION weir_tenants_with_ended_overrides(until timestamptz, most integer)
RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT DISTINCT found.tenant_id
    FROM (
        SELECT o.tenant_id FROM public.overrides o
        WHERE o.managed_by IS NULL AND o.expires_at < least(until, now())
        ORDER BY o.expires_at
        LIMIT most
    ) found
$$;

REVOKE EXECUTE ON FUNCTION weir_tenants_with_ended_overrides(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_tenants_with_ended_overrides(timestamptz, integer) TO weir_app;

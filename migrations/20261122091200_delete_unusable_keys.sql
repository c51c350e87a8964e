-- Keys that were revoked or expired long ago are deleted, so that the table is bounded.
SET LOCAL lock_timeout = '3s';

-- Policies bind the owner too.
CREATE POLICY api_keys_owner ON api_keys TO CURRENT_USER
    USING (true);

CREATE INDEX api_keys_revoked_at_idx ON api_keys (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX api_keys_expires_at_idx ON api_keys (expires_at) WHERE expires_at IS NOT NULL;

-- Deletes up to `most` keys of all tenants that were revoked or expired before `until`. Returns their number. A gate with an
-- old rulebook learns of a revocation from the row, so a revoked key stays until its revocation is older than the newest
-- 10,000 versions: a gate with an older rulebook loads everything. An expired key ends in every rulebook by itself.
CREATE FUNCTION weir_delete_unusable_keys(until timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM public.api_keys WHERE (tenant_id, id) IN (
            SELECT k.tenant_id, k.id FROM public.api_keys k
            WHERE
                k.expires_at < least(until, now())
                OR (
                    k.revoked_at < least(until, now())
                    AND NOT EXISTS (
                        SELECT FROM public.tenant_changes c, public.rulebook_versions r
                        WHERE
                            c.tenant_id = k.tenant_id
                            AND c.sequence = k.sequence
                            AND c.rulebook_version > r.version - 10000
                    )
                )
            LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE EXECUTE ON FUNCTION weir_delete_unusable_keys(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_delete_unusable_keys(timestamptz, integer) TO weir_app;

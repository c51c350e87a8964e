-- Checks that gates retain for what-if runs: those of some subjects, and all checks of these. A row holds what one gate
-- retained of a namespace in some seconds.
--
-- There is no foreign key: late rows of a tenant that was just deleted must not fail a whole flush.
SET LOCAL lock_timeout = '3s';

CREATE TABLE samples (
    tenant_id uuid NOT NULL,
    namespace text NOT NULL,
    until timestamptz NOT NULL,
    boot_id uuid NOT NULL,
    part smallint NOT NULL,
    gate_id uuid NOT NULL,
    since timestamptz NOT NULL,
    -- Subjects with a mark up to this, of 2^32, are retained.
    threshold bigint NOT NULL,
    seen bigint NOT NULL,
    kept bigint NOT NULL,
    -- Checks of earlier rows that could not be written.
    lost bigint NOT NULL,
    -- The attributes that are retained, and the subjects by which.
    plan jsonb NOT NULL,
    -- JSON, compressed in storage; never searched.
    checks text NOT NULL,
    bytes integer NOT NULL,
    CONSTRAINT samples_tenant_id_pkey PRIMARY KEY (tenant_id, namespace, until, boot_id, part)
);

CREATE INDEX samples_until_idx ON samples USING brin (until);

ALTER TABLE samples ENABLE ROW LEVEL SECURITY;
ALTER TABLE samples FORCE ROW LEVEL SECURITY;
CREATE POLICY samples_tenant ON samples FOR SELECT TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY samples_gate ON samples TO weir_gate
    USING (gate_id = weir_gate());
CREATE POLICY samples_owner ON samples TO CURRENT_ROLE
    USING (true);

GRANT SELECT ON samples TO weir_app;
GRANT SELECT, INSERT ON samples TO weir_gate;

-- Deletes samples that are older than their retention, those of deleted tenants, and the oldest of a tenant beyond `bytes_max`.
-- The samples of a tenant that no longer records end with their age. Returns how many rows.
CREATE FUNCTION weir_keep_samples(hours integer, bytes_max bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    gone bigint;
    dropped bigint := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_keep_samples', 0)) THEN
        RETURN 0;
    END IF;
    DELETE FROM public.samples WHERE until < now() - make_interval(hours => GREATEST(hours, 1));
    GET DIAGNOSTICS gone = ROW_COUNT;
    dropped := dropped + gone;
    DELETE FROM public.samples s USING public.deleted_tenants d
    WHERE d.tenant_id = s.tenant_id AND d.deleted_at > now() - interval '2 days';
    GET DIAGNOSTICS gone = ROW_COUNT;
    dropped := dropped + gone;
    DELETE FROM public.samples s USING (
        SELECT k.tenant_id, k.namespace, k.until, k.boot_id, k.part
        FROM (
            SELECT
                tenant_id, namespace, until, boot_id, part,
                sum(bytes) OVER (
                    PARTITION BY tenant_id ORDER BY until DESC, namespace, boot_id, part
                ) AS upto
            FROM public.samples
        ) k
        WHERE k.upto > GREATEST(bytes_max, 1)
    ) k
    WHERE s.tenant_id = k.tenant_id AND s.namespace = k.namespace AND s.until = k.until
        AND s.boot_id = k.boot_id AND s.part = k.part;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN dropped + gone;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_keep_samples(integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_keep_samples(integer, bigint) TO weir_app;

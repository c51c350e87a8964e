-- Counts of steps of ten seconds, for charts of up to an hour, and the durations of checks. A gate writes a step once, after
-- its end, so the counts of a row never change. Steps are retained for two hours.
SET LOCAL lock_timeout = '3s';

CREATE TABLE tallies_steps (
    tenant_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    at timestamptz NOT NULL,
    namespace text NOT NULL,
    boot_id uuid NOT NULL,
    gate_id uuid NOT NULL,
    allowed bigint NOT NULL,
    denied bigint NOT NULL,
    shadow_denied bigint NOT NULL,
    degraded bigint NOT NULL,
    refunded bigint NOT NULL,
    recorded bigint NOT NULL,
    -- The number of checks in each bin of `weir_domain::latency`; only in rows of whole requests.
    latencies integer[],
    CONSTRAINT tallies_steps_tenant_id_pkey PRIMARY KEY (tenant_id, rule_id, at, namespace, boot_id)
);

CREATE INDEX tallies_steps_at_idx ON tallies_steps (at);

ALTER TABLE tallies_steps ENABLE ROW LEVEL SECURITY;
ALTER TABLE tallies_steps FORCE ROW LEVEL SECURITY;
CREATE POLICY tallies_steps_owner ON tallies_steps TO CURRENT_USER
    USING (true);
CREATE POLICY tallies_steps_tenant ON tallies_steps FOR SELECT TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY tallies_steps_gate ON tallies_steps TO weir_gate
    USING (gate_id = weir_gate());

GRANT SELECT ON tallies_steps TO weir_app;
GRANT SELECT, INSERT ON tallies_steps TO weir_gate;

-- Deletes up to `most` steps that are older than two hours. Returns how many.
CREATE FUNCTION weir_delete_old_steps(most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM public.tallies_steps WHERE ctid IN (
            SELECT s.ctid FROM public.tallies_steps s
            WHERE s.at < now() - interval '2 hours'
            ORDER BY s.at LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE EXECUTE ON FUNCTION weir_delete_old_steps(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_delete_old_steps(integer) TO weir_app;

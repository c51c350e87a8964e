-- The requests of each API key by the hour, for 48 hours. A gate writes totals of its run, so the greater of two values is correct.
SET LOCAL lock_timeout = '3s';

CREATE TABLE api_key_hours (
    tenant_id uuid NOT NULL,
    key_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    boot_id uuid NOT NULL,
    gate_id uuid NOT NULL,
    requests bigint NOT NULL,
    -- The last use of the key at this gate in the hour.
    used_at timestamptz NOT NULL,
    CONSTRAINT api_key_hours_tenant_id_pkey PRIMARY KEY (tenant_id, key_id, hour, boot_id),
    CONSTRAINT api_key_hours_key_id_fkey
        FOREIGN KEY (tenant_id, key_id) REFERENCES api_keys (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX api_key_hours_hour_idx ON api_key_hours (hour);

ALTER TABLE api_key_hours ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_key_hours FORCE ROW LEVEL SECURITY;
CREATE POLICY api_key_hours_owner ON api_key_hours TO CURRENT_USER
    USING (true);
CREATE POLICY api_key_hours_tenant ON api_key_hours FOR SELECT TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY api_key_hours_gate ON api_key_hours TO weir_gate
    USING (gate_id = weir_gate());

GRANT SELECT ON api_key_hours TO weir_app;
GRANT SELECT, INSERT, UPDATE ON api_key_hours TO weir_gate;

-- Deletes up to `most` rows that are older than 48 hours. Returns how many.
CREATE FUNCTION weir_delete_old_key_hours(most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM public.api_key_hours WHERE ctid IN (
            SELECT h.ctid FROM public.api_key_hours h
            WHERE h.hour < now() - interval '48 hours'
            ORDER BY h.hour LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE EXECUTE ON FUNCTION weir_delete_old_key_hours(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_delete_old_key_hours(integer) TO weir_app;

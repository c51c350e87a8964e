-- The reports of gates with their heartbeats, and the versions of the rulebook that they applied. No tenant's data is in here.
SET LOCAL lock_timeout = '3s';

CREATE TABLE gates (
    id uuid NOT NULL,
    boot_id uuid NOT NULL,
    address text NOT NULL,
    rulebook_version bigint NOT NULL,
    applied_at timestamptz NOT NULL,
    applied_after_ms bigint NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    weir_version text,
    redis_up boolean,
    redis_round_trip_us bigint,
    -- Between two heartbeats: checks of all tenants and their durations; and what the gate holds in memory.
    interval_ms bigint,
    checks bigint,
    denied bigint,
    from_memory bigint,
    latency_p50_us bigint,
    latency_p99_us bigint,
    leases bigint,
    leased_units bigint,
    memory_bytes bigint,
    -- Since when the gate does not reach Redis, by the clock of the database.
    redis_away_since timestamptz,
    CONSTRAINT gates_id_pkey PRIMARY KEY (id)
);

-- The newest 1,000 versions that each gate has reported. A gate that applied several versions at once reports the last.
CREATE TABLE gate_rollouts (
    gate_id uuid NOT NULL,
    rulebook_version bigint NOT NULL,
    reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT gate_rollouts_gate_id_rulebook_version_pkey PRIMARY KEY (gate_id, rulebook_version),
    CONSTRAINT gate_rollouts_gate_id_fkey
        FOREIGN KEY (gate_id) REFERENCES gates (id) ON DELETE CASCADE
);

ALTER TABLE gates ENABLE ROW LEVEL SECURITY;
ALTER TABLE gates FORCE ROW LEVEL SECURITY;
CREATE POLICY gates_app ON gates TO weir_app
    USING (true);
CREATE POLICY gates_read ON gates FOR SELECT TO weir_gate
    USING (true);
CREATE POLICY gates_beat ON gates FOR INSERT TO weir_gate
    WITH CHECK (id = weir_gate());
CREATE POLICY gates_beat_again ON gates FOR UPDATE TO weir_gate
    USING (id = weir_gate());

ALTER TABLE gate_rollouts ENABLE ROW LEVEL SECURITY;
ALTER TABLE gate_rollouts FORCE ROW LEVEL SECURITY;
CREATE POLICY gate_rollouts_app ON gate_rollouts FOR SELECT TO weir_app
    USING (true);
CREATE POLICY gate_rollouts_gate ON gate_rollouts TO weir_gate
    USING (gate_id = weir_gate());
CREATE POLICY gate_rollouts_owner ON gate_rollouts TO CURRENT_ROLE
    USING (true);

GRANT SELECT, DELETE ON gates TO weir_app;
GRANT SELECT, INSERT, UPDATE ON gates TO weir_gate;
GRANT SELECT ON gate_rollouts TO weir_app;
GRANT SELECT, INSERT, DELETE ON gate_rollouts TO weir_gate;

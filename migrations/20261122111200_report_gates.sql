-- What the dashboard shows of each gate, and when each gate applied which version of the rulebook.
SET LOCAL lock_timeout = '3s';

ALTER TABLE gates
    ADD COLUMN weir_version text,
    ADD COLUMN redis_up boolean,
    ADD COLUMN redis_round_trip_us bigint;

-- The time of a change by the clock of the database, with which the time of the report of a gate is compared. Changes that
-- were published before this migration have none.
ALTER TABLE tenant_changes ADD COLUMN published_at timestamptz;
ALTER TABLE tenant_changes ALTER COLUMN published_at SET DEFAULT clock_timestamp();

-- The newest 1,000 versions that each gate has reported. A gate that applied several versions at once reports the last.
CREATE TABLE gate_rollouts (
    gate_id uuid NOT NULL,
    rulebook_version bigint NOT NULL,
    reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT gate_rollouts_gate_id_rulebook_version_pkey PRIMARY KEY (gate_id, rulebook_version),
    CONSTRAINT gate_rollouts_gate_id_fkey
        FOREIGN KEY (gate_id) REFERENCES gates (id) ON DELETE CASCADE
);

ALTER TABLE gate_rollouts ENABLE ROW LEVEL SECURITY;
ALTER TABLE gate_rollouts FORCE ROW LEVEL SECURITY;
CREATE POLICY gate_rollouts_owner ON gate_rollouts TO CURRENT_USER
    USING (true);
CREATE POLICY gate_rollouts_app ON gate_rollouts FOR SELECT TO weir_app
    USING (true);
CREATE POLICY gate_rollouts_gate ON gate_rollouts TO weir_gate
    USING (gate_id = weir_gate());

GRANT SELECT ON gate_rollouts TO weir_app;
GRANT SELECT, INSERT, DELETE ON gate_rollouts TO weir_gate;

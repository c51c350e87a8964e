-- The rulebook's version, and what each gate says it serves. No tenant's data is in here.
SET LOCAL lock_timeout = '3s';

-- One row. A sequence would not do: its numbers can commit out of order, and a gate that had seen
-- the later one would never look for the earlier.
CREATE TABLE rulebook_versions (
    id smallint NOT NULL DEFAULT 1,
    version bigint NOT NULL,
    CONSTRAINT rulebook_versions_id_pkey PRIMARY KEY (id),
    CONSTRAINT rulebook_versions_id_check CHECK (id = 1)
);

INSERT INTO rulebook_versions (version) VALUES (0);

CREATE TABLE gates (
    id uuid NOT NULL,
    boot_id uuid NOT NULL,
    address text NOT NULL,
    rulebook_version bigint NOT NULL,
    applied_at timestamptz NOT NULL,
    applied_after_ms bigint NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    CONSTRAINT gates_id_pkey PRIMARY KEY (id)
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

GRANT SELECT, UPDATE ON rulebook_versions TO weir_app;
GRANT SELECT ON rulebook_versions TO weir_gate;
GRANT SELECT, DELETE ON gates TO weir_app;
GRANT SELECT, INSERT, UPDATE ON gates TO weir_gate;

-- The switch that turns all limits off: of one tenant, or of the whole installation.
SET LOCAL lock_timeout = '3s';

ALTER TABLE tenants ADD COLUMN enforced boolean NOT NULL DEFAULT true;

-- One row: what holds for all tenants.
CREATE TABLE installation (
    id smallint NOT NULL DEFAULT 1,
    enforced boolean NOT NULL DEFAULT true,
    CONSTRAINT installation_id_pkey PRIMARY KEY (id),
    CONSTRAINT installation_id_check CHECK (id = 1)
);

INSERT INTO installation DEFAULT VALUES;

ALTER TABLE installation ENABLE ROW LEVEL SECURITY;
ALTER TABLE installation FORCE ROW LEVEL SECURITY;
CREATE POLICY installation_owner ON installation TO CURRENT_USER
    USING (true);
CREATE POLICY installation_read ON installation FOR SELECT TO weir_app
    USING (true);
CREATE POLICY installation_operator ON installation FOR UPDATE TO weir_app
    USING (EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator));
CREATE POLICY installation_gate ON installation FOR SELECT TO weir_gate
    USING (true);

GRANT SELECT, UPDATE ON installation TO weir_app;
GRANT SELECT ON installation TO weir_gate;

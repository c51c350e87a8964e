-- Who did what. Written and read, never changed: the app's role may neither update nor delete.
-- No foreign key to the tenant: what was done stays known after a tenant is gone.
SET LOCAL lock_timeout = '3s';

CREATE TABLE audit_entries (
    id uuid NOT NULL,
    -- NULL: a person's own affairs, such as a changed password.
    tenant_id uuid,
    actor_kind text NOT NULL,
    actor_id uuid,
    actor_label text NOT NULL,
    action text NOT NULL,
    object_kind text NOT NULL,
    object_id text NOT NULL,
    before jsonb,
    after jsonb,
    ip text,
    request_id text NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT audit_entries_id_pkey PRIMARY KEY (id),
    CONSTRAINT audit_entries_actor_kind_check CHECK (actor_kind IN ('person', 'key', 'system'))
);

CREATE INDEX audit_entries_tenant_id_id_idx ON audit_entries (tenant_id, id);

ALTER TABLE audit_entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_entries FORCE ROW LEVEL SECURITY;
CREATE POLICY audit_entries_tenant ON audit_entries TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY audit_entries_self ON audit_entries TO weir_app
    USING (tenant_id IS NULL AND actor_id = weir_user());

GRANT SELECT, INSERT ON audit_entries TO weir_app;

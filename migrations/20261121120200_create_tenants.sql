-- Tenants, who belongs to them, and what is left of those that were deleted.
SET LOCAL lock_timeout = '3s';

CREATE TABLE tenants (
    id uuid NOT NULL,
    name text NOT NULL,
    suspended boolean NOT NULL DEFAULT false,
    -- The rulebook version at which anything a gate needs of this tenant last changed.
    version bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    CONSTRAINT tenants_id_pkey PRIMARY KEY (id),
    CONSTRAINT tenants_name_check CHECK (octet_length(name) BETWEEN 1 AND 400)
);

CREATE INDEX tenants_version_idx ON tenants (version);

CREATE TABLE memberships (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT memberships_tenant_id_user_id_pkey PRIMARY KEY (tenant_id, user_id),
    CONSTRAINT memberships_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    CONSTRAINT memberships_user_id_fkey
        FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT memberships_role_check CHECK (role IN ('owner', 'admin', 'editor', 'viewer'))
);

CREATE INDEX memberships_user_id_idx ON memberships (user_id);

-- Gates load only what changed, so they must be told what is gone.
CREATE TABLE deleted_tenants (
    tenant_id uuid NOT NULL,
    version bigint NOT NULL,
    deleted_at timestamptz NOT NULL,
    CONSTRAINT deleted_tenants_tenant_id_pkey PRIMARY KEY (tenant_id)
);

CREATE INDEX deleted_tenants_version_idx ON deleted_tenants (version);

ALTER TABLE memberships ENABLE ROW LEVEL SECURITY;
ALTER TABLE memberships FORCE ROW LEVEL SECURITY;
CREATE POLICY memberships_tenant ON memberships TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY memberships_self ON memberships FOR SELECT TO weir_app
    USING (user_id = weir_user());

ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_tenant ON tenants TO weir_app
    USING (id = weir_tenant());
CREATE POLICY tenants_member ON tenants FOR SELECT TO weir_app
    USING (EXISTS (
        SELECT FROM memberships m WHERE m.tenant_id = tenants.id AND m.user_id = weir_user()
    ));
CREATE POLICY tenants_operator ON tenants FOR SELECT TO weir_app
    USING (EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator));
CREATE POLICY tenants_gate ON tenants FOR SELECT TO weir_gate
    USING (true);

ALTER TABLE deleted_tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE deleted_tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY deleted_tenants_tenant ON deleted_tenants FOR INSERT TO weir_app
    WITH CHECK (tenant_id = weir_tenant());
CREATE POLICY deleted_tenants_gate ON deleted_tenants FOR SELECT TO weir_gate
    USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON tenants, memberships TO weir_app;
GRANT INSERT ON deleted_tenants TO weir_app;
GRANT SELECT ON tenants, deleted_tenants TO weir_gate;

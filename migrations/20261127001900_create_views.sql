-- The views of lists that the members of a tenant share in the dashboard.
SET LOCAL lock_timeout = '3s';

CREATE TABLE shared_views (
    tenant_id uuid NOT NULL,
    views jsonb NOT NULL,
    revision bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT shared_views_tenant_id_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT shared_views_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

ALTER TABLE shared_views ENABLE ROW LEVEL SECURITY;
ALTER TABLE shared_views FORCE ROW LEVEL SECURITY;
CREATE POLICY shared_views_tenant ON shared_views TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY shared_views_owner ON shared_views TO CURRENT_ROLE
    USING (true);

GRANT SELECT, INSERT, UPDATE ON shared_views TO weir_app;

-- What a tenant can use at most: a value of its own, or else the installation's default, or else the program's.
SET LOCAL lock_timeout = '3s';

CREATE TABLE tenant_ceilings (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    value bigint NOT NULL,
    CONSTRAINT tenant_ceilings_tenant_id_name_pkey PRIMARY KEY (tenant_id, name),
    CONSTRAINT tenant_ceilings_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    CONSTRAINT tenant_ceilings_value_check CHECK (value > 0)
);

CREATE TABLE default_ceilings (
    name text NOT NULL,
    value bigint NOT NULL,
    CONSTRAINT default_ceilings_name_pkey PRIMARY KEY (name),
    CONSTRAINT default_ceilings_value_check CHECK (value > 0)
);

ALTER TABLE tenant_ceilings ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_ceilings FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_ceilings_tenant ON tenant_ceilings FOR SELECT TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY tenant_ceilings_operator ON tenant_ceilings TO weir_app
    USING (
        tenant_id = weir_tenant()
        AND EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator)
    );
CREATE POLICY tenant_ceilings_gate ON tenant_ceilings FOR SELECT TO weir_gate
    USING (true);

ALTER TABLE default_ceilings ENABLE ROW LEVEL SECURITY;
ALTER TABLE default_ceilings FORCE ROW LEVEL SECURITY;
CREATE POLICY default_ceilings_read ON default_ceilings FOR SELECT TO weir_app
    USING (true);
CREATE POLICY default_ceilings_operator ON default_ceilings TO weir_app
    USING (EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator));
CREATE POLICY default_ceilings_gate ON default_ceilings FOR SELECT TO weir_gate
    USING (true);

GRANT SELECT, INSERT, DELETE ON tenant_ceilings, default_ceilings TO weir_app;
GRANT SELECT ON tenant_ceilings, default_ceilings TO weir_gate;

-- Removes all but the newest revisions of a rule of the tenant in scope. A function, so that the app's role cannot remove
-- others.
CREATE POLICY rule_revisions_owner ON rule_revisions TO CURRENT_USER
    USING (true);
CREATE FUNCTION weir_keep_revisions(rule uuid, most bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := public.weir_tenant();
    removed bigint;
BEGIN
    DELETE FROM public.rule_revisions r
    WHERE r.tenant_id = tenant AND r.rule_id = rule
        AND r.revision <= (
            SELECT max(n.revision) - GREATEST(most, 1) FROM public.rule_revisions n
            WHERE n.tenant_id = tenant AND n.rule_id = rule
        );
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;
REVOKE EXECUTE ON FUNCTION weir_keep_revisions(uuid, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_keep_revisions(uuid, bigint) TO weir_app;

-- The newest tests of webhooks, which are counted by the minute.
CREATE INDEX webhook_deliveries_tests_idx ON webhook_deliveries (tenant_id, created_at)
    WHERE kind = 'webhook.test';

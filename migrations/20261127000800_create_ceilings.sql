-- The ceilings of a tenant: a value of its own, or else the installation's default, or else the program's.
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

-- Of the ceilings, gates enforce checks per second.
CREATE FUNCTION weir_note_ceiling() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF 'checks_per_second' IN (NEW.name, OLD.name) THEN
        PERFORM public.weir_note_change(coalesce(NEW.tenant_id, OLD.tenant_id));
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER tenant_ceilings_note
    AFTER INSERT OR UPDATE OR DELETE ON tenant_ceilings
    FOR EACH ROW EXECUTE FUNCTION weir_note_ceiling();

CREATE FUNCTION weir_note_default_ceiling() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF 'checks_per_second' IN (NEW.name, OLD.name) THEN
        UPDATE public.installation SET unpublished = true;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER default_ceilings_note
    AFTER INSERT OR UPDATE OR DELETE ON default_ceilings
    FOR EACH ROW EXECUTE FUNCTION weir_note_default_ceiling();

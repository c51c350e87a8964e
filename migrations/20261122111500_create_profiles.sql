-- Profiles: how the requests that a proxy asks about become checks.
SET LOCAL lock_timeout = '3s';

CREATE TABLE profiles (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    -- The profile's body as the API writes it.
    spec jsonb NOT NULL,
    revision bigint NOT NULL,
    sequence bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT profiles_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT profiles_tenant_id_name_key UNIQUE (tenant_id, name),
    CONSTRAINT profiles_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

CREATE INDEX profiles_tenant_id_sequence_idx ON profiles (tenant_id, sequence);

ALTER TABLE profiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE profiles FORCE ROW LEVEL SECURITY;
CREATE POLICY profiles_tenant ON profiles TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY profiles_gate ON profiles FOR SELECT TO weir_gate
    USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON profiles TO weir_app;
GRANT SELECT ON profiles TO weir_gate;

CREATE TRIGGER profiles_note_row
    BEFORE INSERT OR UPDATE ON profiles
    FOR EACH ROW EXECUTE FUNCTION weir_note_row();
CREATE TRIGGER profiles_note_removal
    AFTER DELETE ON profiles REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION weir_note_removal();

-- The function below runs as the owner, whom the policies bind too: without these it would see no row that refers to a
-- change.
CREATE POLICY rules_owner ON rules FOR SELECT TO CURRENT_USER
    USING (true);
CREATE POLICY overrides_owner ON overrides FOR SELECT TO CURRENT_USER
    USING (true);
CREATE POLICY profiles_owner ON profiles FOR SELECT TO CURRENT_USER
    USING (true);

-- Deletes changes that are older than the newest 10,000 versions and to which no row refers. Returns how many.
CREATE OR REPLACE FUNCTION weir_delete_old_changes() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    deleted bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_delete_old_changes', 0)) THEN
        RETURN 0;
    END IF;
    DELETE FROM public.tenant_changes c
    WHERE c.rulebook_version <= (SELECT r.version - 10000 FROM public.rulebook_versions r)
        AND NOT EXISTS (
            SELECT FROM public.rules r
            WHERE r.tenant_id = c.tenant_id AND r.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.overrides o
            WHERE o.tenant_id = c.tenant_id AND o.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.api_keys k
            WHERE k.tenant_id = c.tenant_id AND k.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.profiles p
            WHERE p.tenant_id = c.tenant_id AND p.sequence = c.sequence
        );
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;

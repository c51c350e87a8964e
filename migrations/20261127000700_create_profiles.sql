-- Profiles: how the requests that a proxy asks about become checks. And their revisions.
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
    -- As in `rules`.
    managed_by text,
    applied_digest text,
    CONSTRAINT profiles_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT profiles_tenant_id_name_key UNIQUE (tenant_id, name),
    CONSTRAINT profiles_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

CREATE INDEX profiles_tenant_id_sequence_idx ON profiles (tenant_id, sequence);
-- The profile of a domain of the rate limit service is the only one of its tenant. Other profiles have no domain.
CREATE UNIQUE INDEX profiles_tenant_id_domain_idx ON profiles (tenant_id, (spec ->> 'domain'));

CREATE TABLE profile_revisions (
    tenant_id uuid NOT NULL,
    profile_id uuid NOT NULL,
    revision bigint NOT NULL,
    actor_kind text NOT NULL,
    actor_id uuid,
    actor_label text NOT NULL,
    at timestamptz NOT NULL,
    before jsonb,
    after jsonb NOT NULL,
    CONSTRAINT profile_revisions_tenant_id_profile_id_revision_pkey
        PRIMARY KEY (tenant_id, profile_id, revision),
    CONSTRAINT profile_revisions_tenant_id_profile_id_fkey
        FOREIGN KEY (tenant_id, profile_id) REFERENCES profiles (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT profile_revisions_actor_kind_check CHECK (actor_kind IN ('person', 'key', 'system'))
);

ALTER TABLE profiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE profiles FORCE ROW LEVEL SECURITY;
CREATE POLICY profiles_tenant ON profiles TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY profiles_gate ON profiles FOR SELECT TO weir_gate
    USING (true);
CREATE POLICY profiles_owner ON profiles FOR SELECT TO CURRENT_ROLE
    USING (true);

ALTER TABLE profile_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE profile_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY profile_revisions_tenant ON profile_revisions TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY profile_revisions_owner ON profile_revisions TO CURRENT_ROLE
    USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON profiles TO weir_app;
GRANT SELECT, INSERT ON profile_revisions TO weir_app;
GRANT SELECT ON profiles TO weir_gate;

CREATE TRIGGER profiles_note_row
    BEFORE INSERT OR UPDATE ON profiles
    FOR EACH ROW EXECUTE FUNCTION weir_note_row();
CREATE TRIGGER profiles_note_removal
    AFTER DELETE ON profiles REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION weir_note_removal();

-- As `weir_keep_revisions` for rules.
CREATE FUNCTION weir_keep_profile_revisions(profile uuid, most bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := public.weir_tenant();
    removed bigint;
BEGIN
    DELETE FROM public.profile_revisions r
    WHERE r.tenant_id = tenant AND r.profile_id = profile
        AND r.revision <= (
            SELECT max(n.revision) - GREATEST(most, 1) FROM public.profile_revisions n
            WHERE n.tenant_id = tenant AND n.profile_id = profile
        );
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_keep_profile_revisions(uuid, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_keep_profile_revisions(uuid, bigint) TO weir_app;

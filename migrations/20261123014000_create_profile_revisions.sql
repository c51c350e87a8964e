-- The revisions of profiles, as those of rules: the author, the time, and the body before and after.
SET LOCAL lock_timeout = '3s';

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

-- The present body of each profile. Who wrote it is in the audit log.
INSERT INTO profile_revisions (
    tenant_id, profile_id, revision, actor_kind, actor_label, at, after
)
SELECT tenant_id, id, revision, 'system', 'weir', updated_at, spec
FROM profiles;

ALTER TABLE profile_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE profile_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY profile_revisions_tenant ON profile_revisions TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY profile_revisions_owner ON profile_revisions TO CURRENT_USER
    USING (true);

GRANT SELECT, INSERT ON profile_revisions TO weir_app;

-- Removes all but the newest revisions of a profile of the tenant in scope. A function, so that the app's role cannot remove
-- others.
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

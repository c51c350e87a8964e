-- Tenants, their members and invitations, and the ids of tenants that were deleted.
SET LOCAL lock_timeout = '3s';

CREATE TABLE tenants (
    id uuid NOT NULL,
    name text NOT NULL,
    suspended boolean NOT NULL DEFAULT false,
    -- The version of the rulebook that published the last change of the tenant that gates serve.
    version bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    record_checks boolean NOT NULL DEFAULT true,
    -- The version that published the last removal.
    removed_version bigint NOT NULL DEFAULT 0,
    enforced boolean NOT NULL DEFAULT true,
    -- Numbers all changes of the tenant.
    sequence bigint NOT NULL DEFAULT 0,
    -- These two are true only inside the transaction that changed something that gates serve, or removed some of it. That
    -- transaction holds the lock of the row.
    unpublished boolean NOT NULL DEFAULT false,
    unpublished_removal boolean NOT NULL DEFAULT false,
    CONSTRAINT tenants_id_pkey PRIMARY KEY (id),
    CONSTRAINT tenants_name_check CHECK (octet_length(name) BETWEEN 1 AND 400)
);

CREATE INDEX tenants_version_idx ON tenants (version);

CREATE TABLE memberships (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamptz NOT NULL,
    -- In this tenant. Its members see this time and not that of the account.
    last_seen_at timestamptz,
    CONSTRAINT memberships_tenant_id_user_id_pkey PRIMARY KEY (tenant_id, user_id),
    CONSTRAINT memberships_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    CONSTRAINT memberships_user_id_fkey
        FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT memberships_role_check CHECK (role IN ('owner', 'admin', 'editor', 'viewer'))
);

CREATE INDEX memberships_user_id_idx ON memberships (user_id);

CREATE TABLE invitations (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    -- SHA-256 of the token, which is shown once.
    digest bytea NOT NULL,
    invited_by text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT invitations_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT invitations_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    -- Not per tenant: a presented token must lead to one tenant. A digest cannot be guessed.
    CONSTRAINT invitations_digest_key UNIQUE (digest),
    CONSTRAINT invitations_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT invitations_email_check CHECK (octet_length(email) BETWEEN 3 AND 254),
    CONSTRAINT invitations_role_check CHECK (role IN ('owner', 'admin', 'editor', 'viewer'))
);

-- One pending invitation for each address.
CREATE UNIQUE INDEX invitations_tenant_id_email_key ON invitations (tenant_id, email);
CREATE INDEX invitations_expires_at_idx ON invitations (expires_at);

-- Gates load only what changed, so the removals are rows too.
CREATE TABLE deleted_tenants (
    tenant_id uuid NOT NULL,
    version bigint NOT NULL,
    deleted_at timestamptz NOT NULL,
    CONSTRAINT deleted_tenants_tenant_id_pkey PRIMARY KEY (tenant_id)
);

CREATE INDEX deleted_tenants_version_idx ON deleted_tenants (version);

ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_tenant ON tenants TO weir_app
    USING (id = weir_tenant());
CREATE POLICY tenants_member ON tenants FOR SELECT TO weir_app
    USING (EXISTS (
        SELECT FROM memberships m WHERE m.tenant_id = tenants.id AND m.user_id = weir_user()
    ));
-- The holder of an invitation sees the name of its tenant.
CREATE POLICY tenants_invited ON tenants FOR SELECT TO weir_app
    USING (EXISTS (
        SELECT FROM invitations i WHERE i.tenant_id = tenants.id AND i.digest = weir_invitation()
    ));
CREATE POLICY tenants_operator ON tenants FOR SELECT TO weir_app
    USING (EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator));
CREATE POLICY tenants_gate ON tenants FOR SELECT TO weir_gate
    USING (true);

ALTER TABLE memberships ENABLE ROW LEVEL SECURITY;
ALTER TABLE memberships FORCE ROW LEVEL SECURITY;
CREATE POLICY memberships_tenant ON memberships TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY memberships_self ON memberships FOR SELECT TO weir_app
    USING (user_id = weir_user());
CREATE POLICY memberships_owner ON memberships FOR SELECT TO CURRENT_ROLE
    USING (true);

-- Members of a tenant see each other.
CREATE POLICY users_tenant ON users FOR SELECT TO weir_app
    USING (EXISTS (
        SELECT FROM memberships m WHERE m.user_id = users.id AND m.tenant_id = weir_tenant()
    ));

ALTER TABLE invitations ENABLE ROW LEVEL SECURITY;
ALTER TABLE invitations FORCE ROW LEVEL SECURITY;
CREATE POLICY invitations_tenant ON invitations TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY invitations_presented ON invitations FOR SELECT TO weir_app
    USING (digest = weir_invitation());
CREATE POLICY invitations_owner ON invitations TO CURRENT_ROLE
    USING (true);

ALTER TABLE deleted_tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE deleted_tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY deleted_tenants_tenant ON deleted_tenants FOR INSERT TO weir_app
    WITH CHECK (tenant_id = weir_tenant());
-- The app's role asks whether the deletion of a tenant was published.
CREATE POLICY deleted_tenants_tenant_read ON deleted_tenants FOR SELECT TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY deleted_tenants_gate ON deleted_tenants FOR SELECT TO weir_gate
    USING (true);
CREATE POLICY deleted_tenants_owner ON deleted_tenants FOR SELECT TO CURRENT_ROLE
    USING (true);
CREATE POLICY deleted_tenants_owner_delete ON deleted_tenants FOR DELETE TO CURRENT_ROLE
    USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON tenants, memberships TO weir_app;
GRANT SELECT, INSERT, DELETE ON invitations TO weir_app;
GRANT SELECT, INSERT ON deleted_tenants TO weir_app;
GRANT SELECT ON tenants, deleted_tenants TO weir_gate;

-- Whether an address has an invitation to any tenant.
CREATE FUNCTION weir_is_invited(address text, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN EXISTS (
    SELECT FROM public.invitations i WHERE lower(i.email) = lower(address) AND i.expires_at > at
);

REVOKE EXECUTE ON FUNCTION weir_is_invited(text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_is_invited(text, timestamptz) TO weir_app;

-- Revokes the pending invitations that the person in the scope made, of all tenants. Returns the invitations.
CREATE FUNCTION weir_revoke_own_invitations() RETURNS SETOF invitations
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    DELETE FROM public.invitations i
    USING public.users u
    WHERE u.id = public.weir_user() AND lower(i.invited_by) = u.email
    RETURNING i.*;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_revoke_own_invitations() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_revoke_own_invitations() TO weir_app;

-- The accounts after `after` in the order of their ids, whose address or name contains `part`; in the scope of an operator.
CREATE FUNCTION weir_list_accounts(after uuid, part text, most integer) RETURNS TABLE (
    id uuid,
    email text,
    name text,
    operator boolean,
    disabled boolean,
    second_factor boolean,
    tenants bigint,
    created_at timestamptz,
    last_seen_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM public.users u
        WHERE u.id = public.weir_user() AND u.operator AND u.disabled_at IS NULL
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'only operators list accounts';
    END IF;
    RETURN QUERY
    SELECT
        u.id,
        u.email,
        u.name,
        u.operator,
        u.disabled_at IS NOT NULL,
        EXISTS (
            SELECT FROM public.second_factors f
            WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL
        ),
        (SELECT count(*) FROM public.memberships m WHERE m.user_id = u.id),
        u.created_at,
        u.last_seen_at
    FROM public.users u
    WHERE (weir_list_accounts.after IS NULL OR u.id > weir_list_accounts.after)
        AND (
            part IS NULL
            OR position(lower(part) IN lower(u.email)) > 0
            OR position(lower(part) IN lower(u.name)) > 0
        )
    ORDER BY u.id
    LIMIT most;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_list_accounts(uuid, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_list_accounts(uuid, text, integer) TO weir_app;

-- Who is asked to join a tenant, and the sweeping up of what has run out.
SET LOCAL lock_timeout = '3s';

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

-- One open invitation an address.
CREATE UNIQUE INDEX invitations_tenant_id_email_key ON invitations (tenant_id, lower(email));

CREATE FUNCTION weir_invitation() RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN decode(nullif(current_setting('weir.invitation', true), ''), 'hex');

ALTER TABLE invitations ENABLE ROW LEVEL SECURITY;
ALTER TABLE invitations FORCE ROW LEVEL SECURITY;
CREATE POLICY invitations_tenant ON invitations TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY invitations_presented ON invitations FOR SELECT TO weir_app
    USING (digest = weir_invitation());

-- Whoever holds an invitation may know the name of the tenant it is for.
CREATE POLICY tenants_invited ON tenants FOR SELECT TO weir_app
    USING (EXISTS (
        SELECT FROM invitations i WHERE i.tenant_id = tenants.id AND i.digest = weir_invitation()
    ));

-- Members of a tenant may know each other.
CREATE POLICY users_tenant ON users FOR SELECT TO weir_app
    USING (EXISTS (
        SELECT FROM memberships m WHERE m.user_id = users.id AND m.tenant_id = weir_tenant()
    ));

GRANT SELECT, INSERT, DELETE ON invitations TO weir_app;

-- What has run out belongs to many tenants, and the app's role sees one at a time. So the owner sweeps, and what it may
-- see for that is only what has run out. Rows are taken in bounded numbers, so that no statement lasts long.
CREATE POLICY invitations_sweep ON invitations TO CURRENT_ROLE
    USING (expires_at < now());
CREATE POLICY idempotency_keys_sweep ON idempotency_keys TO CURRENT_ROLE
    USING (expires_at < now());
CREATE POLICY sessions_sweep ON sessions TO CURRENT_ROLE
    USING (expires_at < now());

CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);
CREATE INDEX invitations_expires_at_idx ON invitations (expires_at);

CREATE FUNCTION weir_sweep(at timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
DECLARE
    swept bigint := 0;
    gone bigint;
BEGIN
    DELETE FROM public.idempotency_keys WHERE ctid IN (
        SELECT ctid FROM public.idempotency_keys
        WHERE expires_at < least(at, now()) ORDER BY expires_at LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS gone = ROW_COUNT;
    swept := swept + gone;
    DELETE FROM public.sessions WHERE ctid IN (
        SELECT ctid FROM public.sessions
        WHERE expires_at < least(at, now()) ORDER BY expires_at LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS gone = ROW_COUNT;
    swept := swept + gone;
    DELETE FROM public.invitations WHERE ctid IN (
        SELECT ctid FROM public.invitations
        WHERE expires_at < least(at, now()) ORDER BY expires_at LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN swept + gone;
END
$$;

REVOKE ALL ON FUNCTION weir_sweep(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_sweep(timestamptz, integer) TO weir_app;

-- People, their sessions, and the ways in which they prove who they are. None of it belongs to a tenant: people see their own
-- rows, and the control plane sees a row while it holds the address or the secret that leads to it.
SET LOCAL lock_timeout = '3s';

CREATE TABLE users (
    id uuid NOT NULL,
    -- In normal form (NFKC, lower case), which the control plane makes.
    email text NOT NULL,
    name text NOT NULL,
    password_hash text NOT NULL,
    operator boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    disabled_at timestamptz,
    -- In any tenant; NULL until the first request.
    last_seen_at timestamptz,
    CONSTRAINT users_id_pkey PRIMARY KEY (id),
    CONSTRAINT users_email_check CHECK (octet_length(email) BETWEEN 3 AND 254)
);

CREATE UNIQUE INDEX users_email_key ON users (email);

CREATE TABLE sessions (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    refresh_digest bytea NOT NULL,
    previous_digest bytea,
    rotated_at timestamptz NOT NULL,
    user_agent text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    -- An IPv4 address or the /64 of an IPv6 address; NULL if it is not known.
    network text,
    CONSTRAINT sessions_id_pkey PRIMARY KEY (id),
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT sessions_refresh_digest_check CHECK (octet_length(refresh_digest) = 32),
    CONSTRAINT sessions_previous_digest_check CHECK (octet_length(previous_digest) = 32),
    CONSTRAINT sessions_network_check CHECK (octet_length(network) <= 45)
);

CREATE INDEX sessions_user_id_idx ON sessions (user_id);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);

-- RFC 6238.
CREATE TABLE second_factors (
    user_id uuid NOT NULL,
    -- Encrypted by the control plane.
    secret bytea NOT NULL,
    -- NULL until the person has proven to have the secret. Only then is a code required.
    confirmed_at timestamptz,
    -- The step of the last code that was accepted. Only codes of later steps are.
    last_step bigint NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT second_factors_user_id_pkey PRIMARY KEY (user_id),
    CONSTRAINT second_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);

-- Each code is deleted when it is used.
CREATE TABLE recovery_codes (
    user_id uuid NOT NULL,
    digest bytea NOT NULL,
    CONSTRAINT recovery_codes_user_id_digest_pkey PRIMARY KEY (user_id, digest),
    CONSTRAINT recovery_codes_user_id_fkey
        FOREIGN KEY (user_id) REFERENCES second_factors (user_id) ON DELETE CASCADE,
    CONSTRAINT recovery_codes_digest_check CHECK (octet_length(digest) = 32)
);

-- The tokens with which people set a new password.
CREATE TABLE password_resets (
    user_id uuid NOT NULL,
    digest bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT password_resets_user_id_pkey PRIMARY KEY (user_id),
    CONSTRAINT password_resets_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT password_resets_digest_key UNIQUE (digest),
    CONSTRAINT password_resets_digest_check CHECK (octet_length(digest) = 32)
);

CREATE INDEX password_resets_expires_at_idx ON password_resets (expires_at);

-- Identities of people at the OpenID Connect provider, by which they sign in.
CREATE TABLE identities (
    -- SHA-256 of the issuer, a zero byte and the subject.
    digest bytea NOT NULL,
    user_id uuid NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT identities_digest_pkey PRIMARY KEY (digest),
    CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT identities_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT identities_issuer_check CHECK (octet_length(issuer) BETWEEN 1 AND 2000),
    CONSTRAINT identities_subject_check CHECK (octet_length(subject) BETWEEN 1 AND 255)
);

CREATE UNIQUE INDEX identities_user_id_issuer_key ON identities (user_id, issuer);

-- Sign-ups that wait for a token to be presented (WEIR_SIGNUP=confirmed). A row says nothing about accounts: it is written
-- whether or not the address has one.
CREATE TABLE pending_signups (
    -- In normal form.
    email text NOT NULL,
    tenant_name text NOT NULL,
    -- SHA-256 of the token; NULL until one is issued.
    digest bytea,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pending_signups_email_pkey PRIMARY KEY (email),
    CONSTRAINT pending_signups_digest_key UNIQUE (digest),
    CONSTRAINT pending_signups_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT pending_signups_email_check CHECK (octet_length(email) BETWEEN 3 AND 254),
    CONSTRAINT pending_signups_tenant_name_check CHECK (char_length(tenant_name) BETWEEN 1 AND 100)
);

CREATE INDEX pending_signups_expires_at_idx ON pending_signups (expires_at);

ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY users_self ON users TO weir_app
    USING (id = weir_user());
CREATE POLICY users_login ON users FOR SELECT TO weir_app
    USING (email = weir_login());
-- Only the owner makes a person an operator.
CREATE POLICY users_owner ON users TO CURRENT_ROLE
    USING (true);

ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY sessions_self ON sessions TO weir_app
    USING (user_id = weir_user());
CREATE POLICY sessions_presented ON sessions TO weir_app
    USING (id = weir_session());
CREATE POLICY sessions_owner ON sessions TO CURRENT_ROLE
    USING (true);

ALTER TABLE second_factors ENABLE ROW LEVEL SECURITY;
ALTER TABLE second_factors FORCE ROW LEVEL SECURITY;
CREATE POLICY second_factors_self ON second_factors TO weir_app
    USING (user_id = weir_user());
CREATE POLICY second_factors_owner ON second_factors TO CURRENT_ROLE
    USING (true);

ALTER TABLE recovery_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE recovery_codes FORCE ROW LEVEL SECURITY;
CREATE POLICY recovery_codes_self ON recovery_codes TO weir_app
    USING (user_id = weir_user());
CREATE POLICY recovery_codes_owner ON recovery_codes TO CURRENT_ROLE
    USING (true);

ALTER TABLE password_resets ENABLE ROW LEVEL SECURITY;
ALTER TABLE password_resets FORCE ROW LEVEL SECURITY;
-- The control plane sees a reset only while it holds the token of that reset.
CREATE POLICY password_resets_presented ON password_resets TO weir_app
    USING (digest = weir_password_reset());
CREATE POLICY password_resets_owner ON password_resets TO CURRENT_ROLE
    USING (true);

ALTER TABLE identities ENABLE ROW LEVEL SECURITY;
ALTER TABLE identities FORCE ROW LEVEL SECURITY;
-- The control plane sees an identity only while the provider has confirmed it, and those of the person in the scope.
CREATE POLICY identities_presented ON identities FOR SELECT TO weir_app
    USING (digest = weir_identity());
CREATE POLICY identities_self ON identities TO weir_app
    USING (user_id = weir_user());
CREATE POLICY identities_owner ON identities TO CURRENT_ROLE
    USING (true);

ALTER TABLE pending_signups ENABLE ROW LEVEL SECURITY;
ALTER TABLE pending_signups FORCE ROW LEVEL SECURITY;
-- The control plane sees a sign-up only while it holds the token of that sign-up.
CREATE POLICY pending_signups_presented ON pending_signups TO weir_app
    USING (digest = weir_signup());
CREATE POLICY pending_signups_owner ON pending_signups TO CURRENT_ROLE
    USING (true);

GRANT SELECT ON users TO weir_app;
GRANT INSERT (id, email, name, password_hash, created_at) ON users TO weir_app;
GRANT UPDATE (name, password_hash, last_seen_at) ON users TO weir_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions, second_factors TO weir_app;
GRANT SELECT, INSERT, DELETE ON recovery_codes TO weir_app;
GRANT SELECT, INSERT ON identities TO weir_app;
GRANT SELECT, DELETE ON password_resets, pending_signups TO weir_app;

-- Issues a token for the account of an address, in the scope of an operator. Returns the account, or NULL if there is none, if
-- it is disabled, or if it belongs to an operator: only the owner of the database can let another person into such an account.
CREATE FUNCTION weir_issue_password_reset(address text, token bytea, until timestamptz) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    account uuid;
BEGIN
    IF NOT EXISTS (
        SELECT FROM public.users u
        WHERE u.id = public.weir_user() AND u.operator AND u.disabled_at IS NULL
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'only operators issue password resets';
    END IF;
    SELECT u.id INTO account FROM public.users u
    WHERE u.email = address AND NOT u.operator AND u.disabled_at IS NULL;
    IF account IS NOT NULL THEN
        INSERT INTO public.password_resets AS issued (user_id, digest, expires_at)
        VALUES (account, token, until)
        ON CONFLICT ON CONSTRAINT password_resets_user_id_pkey
        DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at;
    END IF;
    RETURN account;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_issue_password_reset(text, bytea, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_issue_password_reset(text, bytea, timestamptz) TO weir_app;

-- Stores a token for the account of an address, which a client without credentials named. Returns the account, or NULL if
-- there is none or it is disabled.
CREATE FUNCTION weir_request_password_reset(address text, token bytea, until timestamptz) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    account uuid;
BEGIN
    SELECT u.id INTO account FROM public.users u
    WHERE u.email = address AND u.disabled_at IS NULL;
    IF account IS NOT NULL THEN
        INSERT INTO public.password_resets AS issued (user_id, digest, expires_at)
        VALUES (account, token, until)
        ON CONFLICT ON CONSTRAINT password_resets_user_id_pkey
        DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at;
    END IF;
    RETURN account;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_request_password_reset(text, bytea, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_request_password_reset(text, bytea, timestamptz) TO weir_app;

-- Stores a sign-up. Returns false if `most` others are pending. A sign-up whose token was issued is not changed.
CREATE FUNCTION weir_request_signup(
    address text, tenant text, at timestamptz, until timestamptz, most integer
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
BEGIN
    IF (SELECT count(*) FROM public.pending_signups WHERE expires_at > at) >= most THEN
        RETURN false;
    END IF;
    INSERT INTO public.pending_signups AS waiting (email, tenant_name, created_at, expires_at)
    VALUES (address, tenant, at, until)
    ON CONFLICT (email) DO UPDATE
    SET tenant_name = excluded.tenant_name,
        digest = NULL,
        created_at = excluded.created_at,
        expires_at = excluded.expires_at
    WHERE waiting.digest IS NULL OR waiting.expires_at <= at;
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_request_signup(text, text, timestamptz, timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_request_signup(text, text, timestamptz, timestamptz, integer) TO weir_app;

-- Gives the pending sign-up of an address a token and the name of a tenant, in place of earlier ones. Returns whether a sign-up
-- of the address is pending.
CREATE FUNCTION weir_issue_signup(
    address text, tenant text, token bytea, at timestamptz, until timestamptz
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE public.pending_signups
    SET tenant_name = tenant, digest = token, expires_at = until
    WHERE email = address AND expires_at > at;
    RETURN FOUND;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_issue_signup(text, text, bytea, timestamptz, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_issue_signup(text, text, bytea, timestamptz, timestamptz) TO weir_app;

-- Ends the password reset and the sign-up that were open for an account before its credentials changed.
CREATE FUNCTION weir_end_tokens() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    account uuid;
BEGIN
    IF TG_TABLE_NAME = 'users' THEN
        account := NEW.id;
    ELSIF TG_OP = 'DELETE' THEN
        account := OLD.user_id;
    ELSE
        account := NEW.user_id;
    END IF;
    DELETE FROM public.password_resets WHERE user_id = account;
    DELETE FROM public.pending_signups s
    USING public.users u
    WHERE u.id = account AND s.email = u.email;
    RETURN NULL;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_end_tokens() FROM PUBLIC;

CREATE TRIGGER users_end_tokens
    AFTER INSERT OR UPDATE OF email, password_hash, operator, disabled_at ON users
    FOR EACH ROW EXECUTE FUNCTION weir_end_tokens();
CREATE TRIGGER identities_end_tokens AFTER INSERT OR DELETE ON identities
    FOR EACH ROW EXECUTE FUNCTION weir_end_tokens();
CREATE TRIGGER second_factors_end_tokens AFTER UPDATE OF confirmed_at OR DELETE ON second_factors
    FOR EACH ROW EXECUTE FUNCTION weir_end_tokens();

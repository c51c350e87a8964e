-- Sign-ups that wait for a token to be presented (WEIR_SIGNUP=confirmed). A row says nothing about accounts: it is
-- written whether or not the address has one.
SET LOCAL lock_timeout = '3s';

CREATE TABLE pending_signups (
    -- In normal form.
    email text NOT NULL,
    tenant_name text NOT NULL,
    -- SHA-256 of the token; NULL until an operator issues one.
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

CREATE FUNCTION weir_signup() RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN decode(nullif(current_setting('weir.signup', true), ''), 'hex');

ALTER TABLE pending_signups ENABLE ROW LEVEL SECURITY;
ALTER TABLE pending_signups FORCE ROW LEVEL SECURITY;
-- The control plane sees a sign-up only while it holds the token of that sign-up.
CREATE POLICY pending_signups_presented ON pending_signups TO weir_app
    USING (digest = weir_signup());
CREATE POLICY pending_signups_owner ON pending_signups TO CURRENT_ROLE
    USING (true);
GRANT SELECT, DELETE ON pending_signups TO weir_app;

-- Notes a sign-up. Returns false if `most` others wait already. A sign-up whose token was issued is not changed.
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

REVOKE ALL ON FUNCTION weir_request_signup(text, text, timestamptz, timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_request_signup(text, text, timestamptz, timestamptz, integer) TO weir_app;

-- Deletes up to `most` sign-ups that expired before `at`, but none that the clock of the database still counts as pending.
CREATE FUNCTION weir_sweep_signups(at timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
DECLARE
    swept bigint;
BEGIN
    DELETE FROM public.pending_signups WHERE ctid IN (
        SELECT ctid FROM public.pending_signups
        WHERE expires_at < least(at, now()) ORDER BY expires_at LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS swept = ROW_COUNT;
    RETURN swept;
END
$$;

REVOKE ALL ON FUNCTION weir_sweep_signups(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_sweep_signups(timestamptz, integer) TO weir_app;

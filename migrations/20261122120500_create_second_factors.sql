-- Second factors of people (RFC 6238), and the tokens with which a person sets a new password.
SET LOCAL lock_timeout = '3s';

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

CREATE TABLE password_resets (
    user_id uuid NOT NULL,
    digest bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT password_resets_user_id_pkey PRIMARY KEY (user_id),
    CONSTRAINT password_resets_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT password_resets_digest_key UNIQUE (digest),
    CONSTRAINT password_resets_digest_check CHECK (octet_length(digest) = 32)
);

CREATE FUNCTION weir_password_reset() RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN decode(nullif(current_setting('weir.password_reset', true), ''), 'hex');

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

GRANT SELECT, INSERT, UPDATE, DELETE ON second_factors TO weir_app;
GRANT SELECT, INSERT, DELETE ON recovery_codes TO weir_app;
GRANT SELECT, DELETE ON password_resets TO weir_app;
-- Neither changes the table of accounts: a new password is set by the policy of the person.

-- Issues a token for the account of an address, in the scope of an operator. Returns the account, or NULL if there is none, if it is
-- disabled, or if it belongs to an operator: only the owner of the database can let somebody into such an account.
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

REVOKE ALL ON FUNCTION weir_issue_password_reset(text, bytea, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_issue_password_reset(text, bytea, timestamptz) TO weir_app;

-- Identities of people at the OpenID Connect provider, by which they sign in.
SET LOCAL lock_timeout = '3s';

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

CREATE INDEX identities_user_id_idx ON identities (user_id);

CREATE FUNCTION weir_identity() RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN decode(nullif(current_setting('weir.identity', true), ''), 'hex');

ALTER TABLE identities ENABLE ROW LEVEL SECURITY;
ALTER TABLE identities FORCE ROW LEVEL SECURITY;
-- The control plane sees an identity only while the provider has confirmed it, and those of the person in the scope.
CREATE POLICY identities_presented ON identities FOR SELECT TO weir_app
    USING (digest = weir_identity());
CREATE POLICY identities_self ON identities TO weir_app
    USING (user_id = weir_user());
CREATE POLICY identities_owner ON identities TO CURRENT_ROLE
    USING (true);
GRANT SELECT, INSERT ON identities TO weir_app;

-- Whether an address has an invitation to any tenant.
CREATE FUNCTION weir_is_invited(address text, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN EXISTS (
    SELECT FROM public.invitations i WHERE lower(i.email) = lower(address) AND i.expires_at > at
);

REVOKE ALL ON FUNCTION weir_is_invited(text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_is_invited(text, timestamptz) TO weir_app;

-- The function reads the invitations of all tenants.
CREATE POLICY invitations_owner ON invitations FOR SELECT TO CURRENT_ROLE
    USING (true);

-- People and their sessions. Neither belongs to a tenant: each row is seen by its own person,
-- and by whoever already holds the e-mail address or the session's id.
SET LOCAL lock_timeout = '3s';

CREATE TABLE users (
    id uuid NOT NULL,
    email text NOT NULL,
    name text NOT NULL,
    password_hash text NOT NULL,
    operator boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    CONSTRAINT users_id_pkey PRIMARY KEY (id),
    CONSTRAINT users_email_check CHECK (octet_length(email) BETWEEN 3 AND 254)
);

CREATE UNIQUE INDEX users_email_key ON users (lower(email));

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
    CONSTRAINT sessions_id_pkey PRIMARY KEY (id),
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT sessions_refresh_digest_check CHECK (octet_length(refresh_digest) = 32),
    CONSTRAINT sessions_previous_digest_check CHECK (octet_length(previous_digest) = 32)
);

CREATE INDEX sessions_user_id_idx ON sessions (user_id);

ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY users_self ON users TO weir_app
    USING (id = weir_user());
CREATE POLICY users_login ON users FOR SELECT TO weir_app
    USING (lower(email) = lower(weir_login()));
-- Making someone an operator is the owner's affair alone.
CREATE POLICY users_owner ON users TO CURRENT_ROLE
    USING (true);

ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY sessions_self ON sessions TO weir_app
    USING (user_id = weir_user());
CREATE POLICY sessions_presented ON sessions TO weir_app
    USING (id = weir_session());

GRANT SELECT ON users TO weir_app;
GRANT INSERT (id, email, name, password_hash, created_at) ON users TO weir_app;
GRANT UPDATE (name, password_hash) ON users TO weir_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions TO weir_app;

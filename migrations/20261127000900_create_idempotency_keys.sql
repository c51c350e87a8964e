-- The answers to requests that clients can repeat.
SET LOCAL lock_timeout = '3s';

CREATE TABLE idempotency_keys (
    -- The tenant or the person that sent the request.
    owner_id uuid NOT NULL,
    key text NOT NULL,
    request_digest bytea NOT NULL,
    -- NULL only inside the transaction that does the work.
    status smallint,
    body jsonb,
    expires_at timestamptz NOT NULL,
    CONSTRAINT idempotency_keys_owner_id_key_pkey PRIMARY KEY (owner_id, key),
    CONSTRAINT idempotency_keys_request_digest_check CHECK (octet_length(request_digest) = 32)
);

CREATE INDEX idempotency_keys_owner_id_expires_at_idx ON idempotency_keys (owner_id, expires_at);
CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);

ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotency_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY idempotency_keys_owner ON idempotency_keys TO weir_app
    USING (owner_id IN (weir_tenant(), weir_user()));
CREATE POLICY idempotency_keys_sweep ON idempotency_keys TO CURRENT_ROLE
    USING (expires_at < now());

GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_keys TO weir_app;

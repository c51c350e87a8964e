-- API keys: only digests are stored. A rotated key keeps its old digest until the overlap ends.
SET LOCAL lock_timeout = '3s';

CREATE TABLE api_keys (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    hint text NOT NULL,
    digest bytea NOT NULL,
    previous_digest bytea,
    previous_expires_at timestamptz,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT api_keys_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT api_keys_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    -- Not per tenant: a presented key must lead to one tenant. A digest cannot be guessed.
    CONSTRAINT api_keys_digest_key UNIQUE (digest),
    CONSTRAINT api_keys_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT api_keys_previous_digest_check CHECK (octet_length(previous_digest) = 32),
    CONSTRAINT api_keys_previous_expires_at_check
        CHECK ((previous_digest IS NULL) = (previous_expires_at IS NULL))
);

CREATE INDEX api_keys_previous_digest_idx ON api_keys (previous_digest)
    WHERE previous_digest IS NOT NULL;

ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY api_keys_tenant ON api_keys TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY api_keys_presented ON api_keys FOR SELECT TO weir_app
    USING (digest = weir_key() OR previous_digest = weir_key());
CREATE POLICY api_keys_gate ON api_keys FOR SELECT TO weir_gate
    USING (true);

GRANT SELECT, INSERT, UPDATE ON api_keys TO weir_app;
GRANT SELECT ON api_keys TO weir_gate;

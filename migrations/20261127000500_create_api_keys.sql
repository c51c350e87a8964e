-- API keys, of which only digests are stored. A rotated key keeps its old digest until the overlap ends.
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
    sequence bigint NOT NULL,
    -- The namespaces to which a key of the admin API is restricted; NULL for a key that is not.
    namespaces text[],
    CONSTRAINT api_keys_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT api_keys_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    -- Not per tenant: a presented key must lead to one tenant. A digest cannot be guessed.
    CONSTRAINT api_keys_digest_key UNIQUE (digest),
    CONSTRAINT api_keys_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT api_keys_previous_digest_check CHECK (octet_length(previous_digest) = 32),
    CONSTRAINT api_keys_previous_expires_at_check
        CHECK ((previous_digest IS NULL) = (previous_expires_at IS NULL)),
    -- Only the scopes `read` and `write` can be restricted: what the others permit is not of a namespace.
    CONSTRAINT api_keys_namespaces_check CHECK (
        namespaces IS NULL
        OR (cardinality(namespaces) BETWEEN 1 AND 20 AND scopes <@ ARRAY['read', 'write'])
    )
);

CREATE INDEX api_keys_previous_digest_idx ON api_keys (previous_digest)
    WHERE previous_digest IS NOT NULL;
CREATE INDEX api_keys_tenant_id_sequence_idx ON api_keys (tenant_id, sequence);
CREATE INDEX api_keys_revoked_at_idx ON api_keys (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX api_keys_expires_at_idx ON api_keys (expires_at) WHERE expires_at IS NOT NULL;

-- The requests of each key by the hour, for 48 hours. A gate writes totals of its run, so the greater of two values is correct.
CREATE TABLE api_key_hours (
    tenant_id uuid NOT NULL,
    key_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    boot_id uuid NOT NULL,
    gate_id uuid NOT NULL,
    requests bigint NOT NULL,
    -- The last use of the key at this gate in the hour.
    used_at timestamptz NOT NULL,
    CONSTRAINT api_key_hours_tenant_id_pkey PRIMARY KEY (tenant_id, key_id, hour, boot_id),
    CONSTRAINT api_key_hours_key_id_fkey
        FOREIGN KEY (tenant_id, key_id) REFERENCES api_keys (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX api_key_hours_hour_idx ON api_key_hours (hour);

ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY api_keys_tenant ON api_keys TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY api_keys_presented ON api_keys FOR SELECT TO weir_app
    USING (digest = weir_key() OR previous_digest = weir_key());
CREATE POLICY api_keys_gate ON api_keys FOR SELECT TO weir_gate
    USING (true);
-- A gate notes when a key was last used, and changes nothing else of it.
CREATE POLICY api_keys_gate_use ON api_keys FOR UPDATE TO weir_gate
    USING (true);
CREATE POLICY api_keys_owner ON api_keys TO CURRENT_ROLE
    USING (true);

ALTER TABLE api_key_hours ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_key_hours FORCE ROW LEVEL SECURITY;
CREATE POLICY api_key_hours_tenant ON api_key_hours FOR SELECT TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY api_key_hours_gate ON api_key_hours TO weir_gate
    USING (gate_id = weir_gate());
CREATE POLICY api_key_hours_owner ON api_key_hours TO CURRENT_ROLE
    USING (true);

GRANT SELECT, INSERT, UPDATE ON api_keys TO weir_app;
GRANT SELECT, UPDATE (last_used_at) ON api_keys TO weir_gate;
GRANT SELECT ON api_key_hours TO weir_app;
GRANT SELECT, INSERT, UPDATE ON api_key_hours TO weir_gate;

-- Not when a gate notes that a key was used, which is no change of the rulebook.
CREATE TRIGGER api_keys_note_row
    BEFORE INSERT OR UPDATE OF
        scopes, digest, previous_digest, previous_expires_at, expires_at, revoked_at
    ON api_keys FOR EACH ROW EXECUTE FUNCTION weir_note_row();

-- Deletes up to `most` keys of all tenants that were revoked or expired before `until`. Returns their number. A gate with an
-- old rulebook learns of a revocation from the row, so a revoked key stays until its revocation is older than the newest
-- 10,000 versions: a gate with an older rulebook loads everything. An expired key ends in every rulebook by itself.
CREATE FUNCTION weir_delete_unusable_keys(until timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM public.api_keys WHERE (tenant_id, id) IN (
            SELECT k.tenant_id, k.id FROM public.api_keys k
            WHERE
                k.expires_at < least(until, now())
                OR (
                    k.revoked_at < least(until, now())
                    AND NOT EXISTS (
                        SELECT FROM public.tenant_changes c, public.rulebook_versions r
                        WHERE
                            c.tenant_id = k.tenant_id
                            AND c.sequence = k.sequence
                            AND c.rulebook_version > r.version - 10000
                    )
                )
            LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE EXECUTE ON FUNCTION weir_delete_unusable_keys(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_delete_unusable_keys(timestamptz, integer) TO weir_app;

-- Deletes up to `most` rows that are older than 48 hours. Returns how many.
CREATE FUNCTION weir_delete_old_key_hours(most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM public.api_key_hours WHERE ctid IN (
            SELECT h.ctid FROM public.api_key_hours h
            WHERE h.hour < now() - interval '48 hours'
            ORDER BY h.hour LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE EXECUTE ON FUNCTION weir_delete_old_key_hours(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_delete_old_key_hours(integer) TO weir_app;

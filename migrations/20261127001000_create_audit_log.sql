-- The audit log: a hash chain for each tenant, one for each person, and one for the installation.
--
-- The database assigns the sequence number, the time and the hash of an entry when the entry is inserted, so the app's
-- role cannot choose them. hash = SHA-256(hash of the entry before || canonical content). A changed entry has another
-- hash; a missing one leaves a gap in the sequence; a missing last one differs from the chain's head.
-- `weir audit verify` walks the chains. The app's role can neither update nor delete entries.
SET LOCAL lock_timeout = '3s';

-- There is no foreign key to the tenant: its entries outlive it.
CREATE TABLE audit_entries (
    id uuid NOT NULL,
    -- NULL for the affairs of a person, such as a changed password.
    tenant_id uuid,
    actor_kind text NOT NULL,
    actor_id uuid,
    actor_label text NOT NULL,
    action text NOT NULL,
    object_kind text NOT NULL,
    object_id text NOT NULL,
    before jsonb,
    after jsonb,
    ip text,
    request_id text NOT NULL,
    at timestamptz NOT NULL,
    -- The person whose log it is in, if tenant_id is NULL. Both are NULL in the log of the installation.
    user_id uuid,
    chain uuid NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_entries_id_pkey PRIMARY KEY (id),
    CONSTRAINT audit_entries_chain_seq_key UNIQUE (chain, seq),
    CONSTRAINT audit_entries_actor_kind_check
        CHECK (actor_kind IN ('person', 'key', 'system', 'anonymous'))
);

CREATE INDEX audit_entries_tenant_id_id_idx ON audit_entries (tenant_id, id);
CREATE INDEX audit_entries_own_idx ON audit_entries (user_id, id) WHERE tenant_id IS NULL;
CREATE INDEX audit_entries_outside_idx ON audit_entries (id) WHERE tenant_id IS NULL;
CREATE INDEX audit_entries_at_idx ON audit_entries (at);

CREATE TABLE audit_chains (
    -- The tenant's or the person's id; all zeros for the installation.
    chain uuid NOT NULL,
    kind text NOT NULL,
    -- The newest entry.
    seq bigint NOT NULL DEFAULT 1,
    hash bytea NOT NULL DEFAULT '',
    -- The newest entry that retention removed; the chain that is left begins after it.
    purged_seq bigint NOT NULL DEFAULT 0,
    purged_hash bytea NOT NULL DEFAULT '',
    CONSTRAINT audit_chains_chain_pkey PRIMARY KEY (chain),
    CONSTRAINT audit_chains_kind_check CHECK (kind IN ('tenant', 'person', 'installation'))
);

ALTER TABLE audit_entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_entries FORCE ROW LEVEL SECURITY;
-- People append under their own name and address only, keys under their own, and the log of a tenant has only its members and
-- keys. The control plane itself is `system`; a client that did not sign in is `anonymous`.
CREATE POLICY audit_entries_append ON audit_entries FOR INSERT TO weir_app
    WITH CHECK (
        CASE
            WHEN tenant_id IS NOT NULL THEN tenant_id = weir_tenant()
            ELSE user_id IS NULL OR user_id = weir_user()
                OR EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator)
        END
        AND CASE actor_kind
            WHEN 'person' THEN EXISTS (
                SELECT FROM users u
                WHERE u.id = actor_id AND u.email = actor_label AND (
                    u.id = weir_user()
                    OR EXISTS (
                        SELECT FROM memberships m
                        WHERE m.tenant_id = weir_tenant() AND m.user_id = u.id
                    )
                )
            )
            WHEN 'key' THEN EXISTS (
                SELECT FROM api_keys k
                WHERE k.tenant_id = weir_tenant() AND k.id = actor_id AND k.name = actor_label
            )
            ELSE actor_id IS NULL AND actor_label = ''
        END
    );
-- A tenant reads its log, a person the personal one, an operator all, those of deleted tenants too. Refused log-ins of members
-- are shown to their tenants.
CREATE POLICY audit_entries_tenant ON audit_entries FOR SELECT TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY audit_entries_self ON audit_entries FOR SELECT TO weir_app
    USING (tenant_id IS NULL AND user_id = weir_user());
CREATE POLICY audit_entries_operator ON audit_entries FOR SELECT TO weir_app
    USING (EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator));
CREATE POLICY audit_entries_members ON audit_entries FOR SELECT TO weir_app
    USING (
        tenant_id IS NULL
        AND action = 'user.login_refused'
        AND EXISTS (
            SELECT FROM memberships m WHERE m.tenant_id = weir_tenant() AND m.user_id = audit_entries.user_id
        )
    );
CREATE POLICY audit_entries_owner ON audit_entries TO CURRENT_ROLE
    USING (true);

ALTER TABLE audit_chains ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_chains FORCE ROW LEVEL SECURITY;
CREATE POLICY audit_chains_owner ON audit_chains TO CURRENT_ROLE
    USING (true);

GRANT SELECT, INSERT ON audit_entries TO weir_app;

-- The hash of an entry, which `weir audit verify` computes too. jsonb writes the same value always as the same text.
CREATE FUNCTION weir_audit_hash(entry audit_entries, previous bytea) RETURNS bytea
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN sha256(previous || convert_to(
    jsonb_build_array(
        entry.chain,
        entry.seq,
        entry.id,
        entry.tenant_id,
        entry.user_id,
        entry.actor_kind,
        entry.actor_id,
        entry.actor_label,
        entry.action,
        entry.object_kind,
        entry.object_id,
        entry.before,
        entry.after,
        entry.ip,
        entry.request_id,
        to_char(entry.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
    )::text, 'UTF8'
));

-- The head row of the chain is locked from here to the end of the transaction, so entries are appended last.
CREATE FUNCTION weir_chain_audit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    previous bytea;
    kind text;
BEGIN
    IF NEW.tenant_id IS NOT NULL THEN
        NEW.user_id := NULL;
        kind := 'tenant';
    ELSE
        IF NEW.actor_kind = 'person' THEN
            NEW.user_id := coalesce(NEW.user_id, NEW.actor_id);
        END IF;
        kind := CASE WHEN NEW.user_id IS NULL THEN 'installation' ELSE 'person' END;
    END IF;
    NEW.chain := coalesce(NEW.tenant_id, NEW.user_id, '00000000-0000-0000-0000-000000000000');
    INSERT INTO public.audit_chains AS head (chain, kind) VALUES (NEW.chain, kind)
    ON CONFLICT ON CONSTRAINT audit_chains_chain_pkey DO UPDATE SET seq = head.seq + 1
    RETURNING head.seq, head.hash INTO NEW.seq, previous;
    NEW.at := clock_timestamp();
    NEW.hash := public.weir_audit_hash(NEW, previous);
    UPDATE public.audit_chains SET hash = NEW.hash WHERE chain = NEW.chain;
    RETURN NEW;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_chain_audit() FROM PUBLIC;

CREATE TRIGGER audit_entries_chain BEFORE INSERT ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION weir_chain_audit();

-- Removes entries older than the retention, at most `most` of each chain, oldest first and without gaps, and appends an
-- entry that records up to where, the retention in days, and the time of the newest removed entry, which `weir audit verify`
-- compares with its own time. Days are removed whole, so that this appends at most one entry a day to a chain (more only
-- when there are more than `most`). Returns how many entries were removed. The control plane's login can call this, so the
-- shortest retention is checked here.
CREATE FUNCTION weir_purge_audit(days integer, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    oldest timestamptz := date_trunc('day', now()) - make_interval(days => days);
    head public.audit_chains;
    newest timestamptz;
    upto bigint;
    purged bigint := 0;
BEGIN
    IF days IS NULL OR days < 30 THEN
        RAISE EXCEPTION 'audit entries are retained for at least 30 days, not %', days
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_purge_audit', 0)) THEN
        RETURN 0;
    END IF;
    -- At most 100 chains in one transaction: each of them stays locked until its end.
    FOR head IN
        SELECT c.* FROM public.audit_chains c
        WHERE EXISTS (
            SELECT FROM public.audit_entries e
            WHERE e.chain = c.chain AND e.seq = c.purged_seq + 1 AND e.at < oldest
        )
        ORDER BY c.chain LIMIT 100
        FOR UPDATE
    LOOP
        SELECT max(old.seq) INTO upto FROM (
            SELECT e.seq, bool_and(e.at < oldest) OVER (ORDER BY e.seq) AS is_old
            FROM public.audit_entries e
            WHERE e.chain = head.chain
                AND e.seq > head.purged_seq AND e.seq <= head.purged_seq + GREATEST(most, 1)
        ) old WHERE old.is_old;
        SELECT max(e.at) INTO newest
        FROM public.audit_entries e WHERE e.chain = head.chain AND e.seq <= upto;
        UPDATE public.audit_chains c
        SET purged_seq = upto, purged_hash = (
            SELECT e.hash FROM public.audit_entries e WHERE e.chain = head.chain AND e.seq = upto
        )
        WHERE c.chain = head.chain;
        INSERT INTO public.audit_entries (
            id, tenant_id, user_id, actor_kind, actor_label, action, object_kind, object_id, after,
            request_id, at, chain, seq, hash
        )
        SELECT
            -- A ULID of this moment: 48 bits of milliseconds, 80 random bits.
            (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
                || right(replace(gen_random_uuid()::text, '-', ''), 20))::uuid,
            CASE head.kind WHEN 'tenant' THEN head.chain END,
            CASE head.kind WHEN 'person' THEN head.chain END,
            'system', '', 'audit.purge', 'audit', '',
            jsonb_build_object(
                'from_seq', head.purged_seq + 1,
                'to_seq', upto,
                'hash', encode(c.purged_hash, 'hex'),
                'days', days,
                'newest_at_s', floor(extract(epoch FROM newest))
            ),
            '', now(), head.chain, 0, ''
        FROM public.audit_chains c WHERE c.chain = head.chain;
        DELETE FROM public.audit_entries e WHERE e.chain = head.chain AND e.seq <= upto;
        purged := purged + (upto - head.purged_seq);
    END LOOP;
    RETURN purged;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_purge_audit(integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_purge_audit(integer, integer) TO weir_app;

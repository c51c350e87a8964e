-- The audit log becomes a set of hash chains: one for each tenant, one for each person, one for the installation.
--
-- The database assigns the sequence number, the time and the hash of an entry when the entry is inserted, so the app's
-- role cannot choose them. hash = SHA-256(hash of the entry before || canonical content). A changed entry has another
-- hash; a missing one leaves a gap in the sequence; a missing last one differs from the chain's head.
-- `weir audit verify` walks the chains.
SET LOCAL lock_timeout = '3s';

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

ALTER TABLE audit_chains ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_chains FORCE ROW LEVEL SECURITY;
CREATE POLICY audit_chains_owner ON audit_chains TO CURRENT_ROLE
    USING (true);

ALTER TABLE audit_entries
    -- Whose personal log it is in, where tenant_id is NULL; both NULL: the installation's log.
    ADD COLUMN user_id uuid,
    ADD COLUMN chain uuid,
    ADD COLUMN seq bigint,
    ADD COLUMN hash bytea,
    DROP CONSTRAINT audit_entries_actor_kind_check,
    ADD CONSTRAINT audit_entries_actor_kind_check
        CHECK (actor_kind IN ('person', 'key', 'system', 'anonymous'));

CREATE POLICY audit_entries_owner ON audit_entries TO CURRENT_ROLE
    USING (true);

-- What is hashed. jsonb writes the same value always as the same text. `weir audit verify` computes the same.
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

-- The entries that are there already, in the order of their ids. The time they have stays.
DO $$
DECLARE
    entry audit_entries;
    head audit_chains;
BEGIN
    FOR entry IN SELECT * FROM audit_entries ORDER BY id LOOP
        IF entry.tenant_id IS NULL THEN
            entry.user_id := entry.actor_id;
        END IF;
        entry.chain := coalesce(
            entry.tenant_id, entry.user_id, '00000000-0000-0000-0000-000000000000'
        );
        INSERT INTO audit_chains AS c (chain, kind)
        VALUES (
            entry.chain,
            CASE
                WHEN entry.tenant_id IS NOT NULL THEN 'tenant'
                WHEN entry.user_id IS NOT NULL THEN 'person'
                ELSE 'installation'
            END
        )
        ON CONFLICT ON CONSTRAINT audit_chains_chain_pkey DO UPDATE SET seq = c.seq + 1
        RETURNING * INTO head;
        entry.seq := head.seq;
        entry.hash := weir_audit_hash(entry, head.hash);
        UPDATE audit_entries e
        SET user_id = entry.user_id, chain = entry.chain, seq = entry.seq, hash = entry.hash
        WHERE e.id = entry.id;
        UPDATE audit_chains c SET hash = entry.hash WHERE c.chain = entry.chain;
    END LOOP;
END
$$;

ALTER TABLE audit_entries
    ALTER COLUMN chain SET NOT NULL,
    ALTER COLUMN seq SET NOT NULL,
    ALTER COLUMN hash SET NOT NULL,
    ADD CONSTRAINT audit_entries_chain_seq_key UNIQUE (chain, seq);

CREATE TRIGGER audit_entries_chain BEFORE INSERT ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION weir_chain_audit();

CREATE INDEX audit_entries_own_idx ON audit_entries (user_id, id) WHERE tenant_id IS NULL;
CREATE INDEX audit_entries_outside_idx ON audit_entries (id) WHERE tenant_id IS NULL;
CREATE INDEX audit_entries_at_idx ON audit_entries (at);

-- Who may append what: a person only under their own name and address, a key only under its own, and in a tenant's log
-- only its members and keys. The control plane itself is `system`; somebody who did not sign in is `anonymous`.
DROP POLICY audit_entries_tenant ON audit_entries;
DROP POLICY audit_entries_self ON audit_entries;
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

-- Who may read what: a tenant its log, a person the personal one, an operator all, those of deleted tenants too. Refused
-- log-ins of members are shown to their tenants.
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

-- Removes entries older than the retention, at most `most` of each chain, oldest first and without gaps, and appends an
-- entry that says up to where. Days are removed whole, so that this appends at most one entry a day to a chain (more
-- only when there are more than `most`). Returns how many entries were removed.
CREATE FUNCTION weir_purge_audit(days integer, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    oldest timestamptz := date_trunc('day', now()) - make_interval(days => GREATEST(days, 1));
    head public.audit_chains;
    upto bigint;
    purged bigint := 0;
BEGIN
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
                'hash', encode(c.purged_hash, 'hex')
            ),
            '', now(), head.chain, 0, ''
        FROM public.audit_chains c WHERE c.chain = head.chain;
        DELETE FROM public.audit_entries e WHERE e.chain = head.chain AND e.seq <= upto;
        purged := purged + (upto - head.purged_seq);
    END LOOP;
    RETURN purged;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_chain_audit() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION weir_purge_audit(integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_purge_audit(integer, integer) TO weir_app;

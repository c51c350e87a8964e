-- The control plane's login can call the purge of the audit log, so the shortest retention is checked here. Each purge also
-- records the retention in days and the time of the newest removed entry, which `weir audit verify` compares with its own time.
SET LOCAL lock_timeout = '3s';

CREATE OR REPLACE FUNCTION weir_purge_audit(days integer, most integer) RETURNS bigint
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

-- Counts of decisions. Gates write absolute counts of each run (`boot_id`), a statement keeps the greater of two values, and
-- readers sum: a retry cannot count twice.
--
-- A `rule_id` of zeros counts whole requests, any other the decisions of that rule. There are no foreign keys: a late count of
-- a tenant that was just deleted must not fail the counts of all others.
SET LOCAL lock_timeout = '3s';

-- Steps of ten seconds, for charts of up to an hour, and the durations of checks. A gate writes a step once, after its end, so
-- the counts of a row never change.
CREATE TABLE tallies_steps (
    tenant_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    at timestamptz NOT NULL,
    namespace text NOT NULL,
    boot_id uuid NOT NULL,
    gate_id uuid NOT NULL,
    allowed bigint NOT NULL,
    denied bigint NOT NULL,
    shadow_denied bigint NOT NULL,
    degraded bigint NOT NULL,
    refunded bigint NOT NULL,
    recorded bigint NOT NULL,
    -- The number of checks in each bin of `weir_domain::latency`; only in rows of whole requests.
    latencies integer[],
    CONSTRAINT tallies_steps_tenant_id_pkey PRIMARY KEY (tenant_id, rule_id, at, namespace, boot_id)
);

CREATE INDEX tallies_steps_at_idx ON tallies_steps (at);

CREATE TABLE tallies_minutes (
    tenant_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    minute timestamptz NOT NULL,
    namespace text NOT NULL,
    boot_id uuid NOT NULL,
    gate_id uuid NOT NULL,
    allowed bigint NOT NULL,
    denied bigint NOT NULL,
    shadow_denied bigint NOT NULL,
    degraded bigint NOT NULL,
    refunded bigint NOT NULL,
    recorded bigint NOT NULL DEFAULT 0,
    CONSTRAINT tallies_minutes_tenant_id_pkey
        PRIMARY KEY (tenant_id, rule_id, minute, namespace, boot_id)
) PARTITION BY RANGE (minute);

-- The roll-up reads a few hours of all tenants; rows come in the order of time.
CREATE INDEX tallies_minutes_minute_idx ON tallies_minutes
    USING brin (minute) WITH (pages_per_range = 16, autosummarize = on);

-- Takes the rows outside of the days that are open, so that a flush never fails because a partition is missing.
CREATE TABLE tallies_minutes_other (
    LIKE tallies_minutes INCLUDING DEFAULTS,
    CONSTRAINT tallies_minutes_other_tenant_id_pkey
        PRIMARY KEY (tenant_id, rule_id, minute, namespace, boot_id)
);
ALTER TABLE tallies_minutes ATTACH PARTITION tallies_minutes_other DEFAULT;

CREATE TABLE tallies_hours (
    tenant_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    namespace text NOT NULL,
    allowed bigint NOT NULL,
    denied bigint NOT NULL,
    shadow_denied bigint NOT NULL,
    degraded bigint NOT NULL,
    refunded bigint NOT NULL,
    recorded bigint NOT NULL DEFAULT 0,
    CONSTRAINT tallies_hours_tenant_id_pkey PRIMARY KEY (tenant_id, rule_id, hour, namespace)
);

CREATE INDEX tallies_hours_hour_idx ON tallies_hours
    USING brin (hour) WITH (pages_per_range = 16, autosummarize = on);

-- Days of UTC.
CREATE TABLE tallies_days (
    tenant_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    day timestamptz NOT NULL,
    namespace text NOT NULL,
    allowed bigint NOT NULL,
    denied bigint NOT NULL,
    shadow_denied bigint NOT NULL,
    degraded bigint NOT NULL,
    refunded bigint NOT NULL,
    recorded bigint NOT NULL DEFAULT 0,
    CONSTRAINT tallies_days_tenant_id_pkey PRIMARY KEY (tenant_id, rule_id, day, namespace)
);

CREATE INDEX tallies_days_day_idx ON tallies_days
    USING brin (day) WITH (pages_per_range = 16, autosummarize = on);

-- One row for each run of a gate: until when it has reported, and the oldest minute that it wrote since the last roll-up. The
-- hours from that minute on are not rolled up. The roll-up locks these rows to exclude flushes.
CREATE TABLE gate_flushes (
    boot_id uuid NOT NULL,
    gate_id uuid NOT NULL,
    flushed_at timestamptz NOT NULL,
    oldest_minute timestamptz NOT NULL,
    -- Until when the busiest subjects are complete, which gates write less often.
    subjects_at timestamptz,
    CONSTRAINT gate_flushes_boot_id_pkey PRIMARY KEY (boot_id)
);

-- Decisions that a gate could not record.
CREATE TABLE tallies_dropped (
    boot_id uuid NOT NULL,
    minute timestamptz NOT NULL,
    gate_id uuid NOT NULL,
    dropped bigint NOT NULL,
    CONSTRAINT tallies_dropped_boot_id_minute_pkey PRIMARY KEY (boot_id, minute)
);

CREATE INDEX tallies_dropped_minute_idx ON tallies_dropped (minute);

-- The busiest subjects of ten minutes at one gate. A subject that is not among the entries had at most `floor` checks.
CREATE TABLE top_subjects (
    tenant_id uuid NOT NULL,
    at timestamptz NOT NULL,
    boot_id uuid NOT NULL,
    gate_id uuid NOT NULL,
    checks bigint NOT NULL,
    floor bigint NOT NULL,
    entries jsonb NOT NULL,
    CONSTRAINT top_subjects_tenant_id_at_boot_id_pkey PRIMARY KEY (tenant_id, at, boot_id)
);

CREATE INDEX top_subjects_at_idx ON top_subjects USING brin (at);

CREATE TABLE denials (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    gate_id uuid NOT NULL,
    at timestamptz NOT NULL,
    namespace text NOT NULL,
    rule_id uuid NOT NULL,
    rule text NOT NULL,
    shadow boolean NOT NULL,
    subject jsonb NOT NULL,
    cost bigint NOT NULL,
    retry_after_ms bigint,
    degraded boolean NOT NULL,
    stands_for integer NOT NULL,
    -- The request whose answer was the denial, and its trace if it was traced. A check of a deferred job has neither.
    request_id uuid,
    trace_id uuid,
    rule_revision bigint,
    override_id uuid,
    -- The names of other rules that denied the check.
    also_denied_by jsonb NOT NULL,
    -- The answers of the rule's limits.
    limits jsonb NOT NULL,
    CONSTRAINT denials_tenant_id_id_pkey PRIMARY KEY (tenant_id, id)
);

CREATE INDEX denials_at_idx ON denials USING brin (at);
CREATE INDEX denials_tenant_id_request_id_idx ON denials (tenant_id, request_id)
    WHERE request_id IS NOT NULL;

-- A tenant reads its own rows, a gate writes its own, and the owner, as whom the housekeeping runs, does all.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'tallies_steps', 'tallies_minutes', 'tallies_minutes_other', 'tallies_hours', 'tallies_days',
        'gate_flushes', 'tallies_dropped', 'top_subjects', 'denials'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY %I ON %I TO CURRENT_USER USING (true)', name || '_owner', name
        );
    END LOOP;
    FOREACH name IN ARRAY ARRAY[
        'tallies_steps', 'tallies_minutes', 'tallies_hours', 'tallies_days', 'top_subjects', 'denials'
    ] LOOP
        EXECUTE format(
            'CREATE POLICY %I ON %I FOR SELECT TO weir_app USING (tenant_id = weir_tenant())',
            name || '_tenant', name
        );
    END LOOP;
    FOREACH name IN ARRAY ARRAY['gate_flushes', 'tallies_dropped'] LOOP
        EXECUTE format(
            'CREATE POLICY %I ON %I FOR SELECT TO weir_app USING (true)', name || '_app', name
        );
    END LOOP;
    FOREACH name IN ARRAY ARRAY[
        'tallies_steps', 'tallies_minutes', 'gate_flushes', 'tallies_dropped', 'top_subjects', 'denials'
    ] LOOP
        EXECUTE format(
            'CREATE POLICY %I ON %I TO weir_gate USING (gate_id = weir_gate())',
            name || '_gate', name
        );
    END LOOP;
END
$$;

GRANT SELECT ON
    tallies_steps, tallies_minutes, tallies_hours, tallies_days, gate_flushes, tallies_dropped, top_subjects, denials
TO weir_app;
GRANT SELECT, INSERT ON tallies_steps TO weir_gate;
GRANT SELECT, INSERT, UPDATE ON
    tallies_minutes, gate_flushes, tallies_dropped, top_subjects, denials
TO weir_gate;

-- The counts between two times, each from the coarsest table that has the `resolution` and is complete there. Inlined into the
-- query around it; row-level security is that of the caller.
CREATE FUNCTION weir_tallies(
    tenant uuid, rule uuid, resolution text, since timestamptz, until timestamptz
) RETURNS TABLE (
    at timestamptz,
    namespace text,
    allowed bigint,
    denied bigint,
    shadow_denied bigint,
    degraded bigint,
    refunded bigint,
    recorded bigint
)
LANGUAGE sql STABLE
AS $$
    WITH edge AS (
        SELECT date_trunc('hour', coalesce(min(f.oldest_minute), now()), 'UTC') AS hour
        FROM gate_flushes f
    )
    SELECT d.day, d.namespace, d.allowed, d.denied, d.shadow_denied, d.degraded, d.refunded,
        d.recorded
    FROM tallies_days d
    WHERE resolution = 'day'
        AND d.tenant_id = tenant AND d.rule_id = rule
        AND d.day >= since
        AND d.day < LEAST(until, (SELECT date_trunc('day', e.hour, 'UTC') FROM edge e))
    UNION ALL
    SELECT h.hour, h.namespace, h.allowed, h.denied, h.shadow_denied, h.degraded, h.refunded,
        h.recorded
    FROM tallies_hours h
    WHERE resolution <> 'minute'
        AND h.tenant_id = tenant AND h.rule_id = rule
        AND h.hour >= CASE
            WHEN resolution = 'hour' THEN since
            ELSE GREATEST(since, (SELECT date_trunc('day', e.hour, 'UTC') FROM edge e))
        END
        AND h.hour < LEAST(until, (SELECT e.hour FROM edge e))
    UNION ALL
    SELECT m.minute, m.namespace, m.allowed, m.denied, m.shadow_denied, m.degraded, m.refunded,
        m.recorded
    FROM tallies_minutes m
    WHERE m.tenant_id = tenant AND m.rule_id = rule
        AND m.minute >= CASE
            WHEN resolution = 'minute' THEN since
            ELSE GREATEST(since, (SELECT e.hour FROM edge e))
        END
        AND m.minute < until
$$;

-- Until when all living gates have reported, and how many decisions could not be recorded between two times.
CREATE FUNCTION weir_freshness(since timestamptz, until timestamptz)
RETURNS TABLE (as_of timestamptz, dropped bigint)
LANGUAGE sql STABLE
AS $$
    SELECT
        coalesce(
            (
                SELECT min(f.flushed_at)
                FROM gates g JOIN gate_flushes f ON f.boot_id = g.boot_id
                WHERE g.seen_at > now() - interval '10 seconds'
            ),
            (SELECT max(f.flushed_at) FROM gate_flushes f),
            now()
        ),
        (
            SELECT coalesce(sum(d.dropped), 0)::bigint
            FROM tallies_dropped d
            WHERE d.minute >= since AND d.minute < until
        )
$$;

-- Until when the busiest subjects are complete: as `weir_freshness` for counts.
CREATE FUNCTION weir_subjects_freshness() RETURNS timestamptz
LANGUAGE sql STABLE
AS $$
    SELECT coalesce(
        (
            SELECT min(coalesce(f.subjects_at, f.flushed_at))
            FROM gates g JOIN gate_flushes f ON f.boot_id = g.boot_id
            WHERE g.seen_at > now() - interval '10 seconds'
        ),
        (SELECT max(coalesce(f.subjects_at, f.flushed_at)) FROM gate_flushes f),
        now()
    )
$$;

-- The rules of a tenant that were counted, deleted ones too. Steps from rule to rule by the key instead of reading all hours.
CREATE FUNCTION weir_counted_rules(tenant uuid) RETURNS TABLE (rule_id uuid)
LANGUAGE sql STABLE
AS $$
    WITH RECURSIVE counted AS (
        (
            SELECT h.rule_id FROM tallies_hours h
            WHERE h.tenant_id = tenant ORDER BY h.rule_id LIMIT 1
        )
        UNION ALL
        SELECT (
            SELECT h.rule_id FROM tallies_hours h
            WHERE h.tenant_id = tenant AND h.rule_id > c.rule_id ORDER BY h.rule_id LIMIT 1
        )
        FROM counted c WHERE c.rule_id IS NOT NULL
    )
    SELECT c.rule_id FROM counted c WHERE c.rule_id <> '00000000-0000-0000-0000-000000000000'
    UNION
    SELECT r.id FROM rules r WHERE r.tenant_id = tenant
$$;

-- Housekeeping, which the control plane calls although it owns no table. No function takes the name of a table, or reaches
-- younger data than its retention. Each is a transaction of its own, because opening and dropping a day locks the whole table of
-- minutes.

-- Creates the partition of one day (of UTC), with the rows that came too early or too late for it.
CREATE FUNCTION weir_open_day(day date) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    name text := 'tallies_minutes_' || to_char(day, 'YYYYMMDD');
    since timestamptz := day::timestamptz;
    until timestamptz := (day + 1)::timestamptz;
BEGIN
    IF to_regclass('public.' || name) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format(
        'CREATE TABLE public.%I (
            LIKE public.tallies_minutes INCLUDING DEFAULTS,
            CONSTRAINT %I PRIMARY KEY (tenant_id, rule_id, minute, namespace, boot_id)
        ) WITH (fillfactor = 70)',
        name, name || '_tenant_id_pkey'
    );
    EXECUTE format(
        'WITH strays AS (
            DELETE FROM public.tallies_minutes_other WHERE minute >= %L AND minute < %L RETURNING *
        ) INSERT INTO public.%I SELECT * FROM strays',
        since, until, name
    );
    EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE public.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
        'ALTER TABLE public.tallies_minutes ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
        name, since, until
    );
END
$$;

REVOKE EXECUTE ON FUNCTION weir_open_day(date) FROM PUBLIC;

-- Opens yesterday to the day after tomorrow.
CREATE FUNCTION weir_open_days() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_open_days', 0)) THEN
        RETURN;
    END IF;
    FOR ahead IN -1 .. 2 LOOP
        PERFORM public.weir_open_day(now()::date + ahead);
    END LOOP;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_open_days() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_open_days() TO weir_app;

-- Drops the oldest day of minutes that is older than `minutes_days`. Returns whether there was one. Its transaction does nothing
-- else: all readers and writers of the table wait for its end. The function itself waits for them only a moment, because every
-- later statement waits behind it.
CREATE FUNCTION weir_drop_old_day(minutes_days integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET lock_timeout = '250ms'
AS $$
DECLARE
    part text;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_drop_old_day', 0)) THEN
        RETURN false;
    END IF;
    SELECT c.relname INTO part
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'public.tallies_minutes'::regclass
        AND c.relname ~ '^tallies_minutes_\d{8}$'
        AND to_date(right(c.relname, 8), 'YYYYMMDD') < now()::date - GREATEST(minutes_days, 1)
    ORDER BY c.relname
    LIMIT 1;
    IF part IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE public.%I', part);
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_drop_old_day(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_drop_old_day(integer) TO weir_app;

-- Rolls up the minutes of completed hours into hours, and hours into days. Each hour is computed as a whole, so a repetition
-- changes nothing, and late minutes are included the next time. Returns whether there was anything to roll up. A second caller
-- at the same time does nothing.
CREATE FUNCTION weir_roll_up(minutes_days integer, hours_days integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    this_hour timestamptz := date_trunc('hour', now());
    this_day timestamptz := date_trunc('day', now());
    since timestamptz;
    since_day timestamptz;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_roll_up', 0)) THEN
        RETURN false;
    END IF;
    -- A flush holds its gate's row until it commits, so from here on everything that was flushed is
    -- seen, and nothing more comes until the end.
    PERFORM FROM public.gate_flushes ORDER BY boot_id FOR UPDATE;
    SELECT date_trunc('hour', min(oldest_minute)) INTO since FROM public.gate_flushes;
    IF since IS NULL OR since >= this_hour THEN
        RETURN false;
    END IF;
    -- Of what is older the minutes may be gone; recomputing would forget what was rolled up.
    since := GREATEST(since, this_day - make_interval(days => GREATEST(minutes_days, 1)));
    INSERT INTO public.tallies_hours AS kept (
        tenant_id, rule_id, hour, namespace, allowed, denied, shadow_denied, degraded, refunded,
        recorded
    )
    SELECT
        tenant_id, rule_id, date_trunc('hour', minute), namespace,
        sum(allowed), sum(denied), sum(shadow_denied), sum(degraded), sum(refunded),
        sum(recorded)
    FROM public.tallies_minutes
    WHERE minute >= since AND minute < this_hour
    GROUP BY 1, 2, 3, 4
    ON CONFLICT ON CONSTRAINT tallies_hours_tenant_id_pkey
    DO UPDATE SET
        allowed = excluded.allowed,
        denied = excluded.denied,
        shadow_denied = excluded.shadow_denied,
        degraded = excluded.degraded,
        refunded = excluded.refunded,
        recorded = excluded.recorded;
    since_day := GREATEST(
        date_trunc('day', since), this_day - make_interval(days => GREATEST(hours_days, 1))
    );
    INSERT INTO public.tallies_days AS kept (
        tenant_id, rule_id, day, namespace, allowed, denied, shadow_denied, degraded, refunded,
        recorded
    )
    SELECT
        tenant_id, rule_id, date_trunc('day', hour), namespace,
        sum(allowed), sum(denied), sum(shadow_denied), sum(degraded), sum(refunded),
        sum(recorded)
    FROM public.tallies_hours
    WHERE hour >= since_day AND hour < this_day
    GROUP BY 1, 2, 3, 4
    ON CONFLICT ON CONSTRAINT tallies_days_tenant_id_pkey
    DO UPDATE SET
        allowed = excluded.allowed,
        denied = excluded.denied,
        shadow_denied = excluded.shadow_denied,
        degraded = excluded.degraded,
        refunded = excluded.refunded,
        recorded = excluded.recorded;
    UPDATE public.gate_flushes SET oldest_minute = this_hour WHERE oldest_minute < this_hour;
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_roll_up(integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_roll_up(integer, integer) TO weir_app;

-- Deletes up to `most` steps that are older than two hours. Steps of whole requests of which one in a hundred or more was answered
-- without Redis are retained for three days: they give an outage its begin and its end. Returns how many were deleted.
CREATE FUNCTION weir_delete_old_steps(most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM public.tallies_steps WHERE ctid IN (
            SELECT s.ctid FROM public.tallies_steps s
            WHERE s.at < now() - interval '2 hours'
                AND (
                    s.at < now() - interval '3 days'
                    OR s.rule_id <> '00000000-0000-0000-0000-000000000000'
                    OR s.degraded = 0
                    OR s.degraded * 100 < s.allowed + s.denied
                )
            ORDER BY s.at LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE EXECUTE ON FUNCTION weir_delete_old_steps(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_delete_old_steps(integer) TO weir_app;

-- Deletes rows that are older than their retention, that belong to deleted tenants, and denials beyond their number.
CREATE FUNCTION weir_delete_old_statistics(
    minutes_days integer, hours_days integer, days_days integer, denials_max integer
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    today date := now()::date;
    minutes_since timestamptz := (today - GREATEST(minutes_days, 1))::timestamptz;
    tenant uuid;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_keep_statistics', 0)) THEN
        RETURN;
    END IF;
    DELETE FROM public.tallies_minutes_other WHERE minute < minutes_since;
    DELETE FROM public.tallies_dropped WHERE minute < minutes_since;
    DELETE FROM public.top_subjects WHERE at < minutes_since;
    DELETE FROM public.tallies_hours
    WHERE hour < (today - GREATEST(hours_days, 1))::timestamptz;
    DELETE FROM public.tallies_days
    WHERE day < (today - GREATEST(days_days, 1))::timestamptz;
    DELETE FROM public.gate_flushes WHERE flushed_at < now() - interval '2 days';
    DELETE FROM public.denials WHERE at < now() - interval '30 days';
    -- A gate that was away may still report decisions of a tenant for days after its deletion.
    FOR tenant IN
        SELECT d.tenant_id FROM public.deleted_tenants d
        WHERE d.deleted_at > now() - interval '30 days'
    LOOP
        DELETE FROM public.tallies_minutes WHERE tenant_id = tenant;
        DELETE FROM public.tallies_hours WHERE tenant_id = tenant;
        DELETE FROM public.tallies_days WHERE tenant_id = tenant;
        DELETE FROM public.top_subjects WHERE tenant_id = tenant;
        DELETE FROM public.denials WHERE tenant_id = tenant;
    END LOOP;
    -- By then every gate has heard of the deletion: none starts from a copy older than 300 days.
    DELETE FROM public.deleted_tenants WHERE deleted_at < now() - interval '366 days';
    -- From tenant to tenant by the key, so that the log is not read as a whole.
    SELECT d.tenant_id INTO tenant FROM public.denials d ORDER BY d.tenant_id LIMIT 1;
    WHILE tenant IS NOT NULL LOOP
        DELETE FROM public.denials d
        WHERE d.tenant_id = tenant AND d.id < (
            SELECT k.id FROM public.denials k
            WHERE k.tenant_id = tenant ORDER BY k.id DESC OFFSET GREATEST(denials_max, 1) - 1 LIMIT 1
        );
        SELECT d.tenant_id INTO tenant FROM public.denials d
        WHERE d.tenant_id > tenant ORDER BY d.tenant_id LIMIT 1;
    END LOOP;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_delete_old_statistics(integer, integer, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_delete_old_statistics(integer, integer, integer, integer) TO weir_app;

-- Deletes the statistics of tenants that have a ceiling of days, beyond it. Returns how many rows.
CREATE FUNCTION weir_keep_days_of_tenants() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    today timestamptz := date_trunc('day', now());
    fallback bigint := (SELECT d.value FROM public.default_ceilings d WHERE d.name = 'statistics_days');
    gone bigint;
    dropped bigint := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_keep_days_of_tenants', 0)) THEN
        RETURN 0;
    END IF;
    CREATE TEMPORARY TABLE keep_days ON COMMIT DROP AS
        SELECT c.tenant_id, today - make_interval(days => c.value::integer) AS since
        FROM public.tenant_ceilings c
        WHERE c.name = 'statistics_days';
    IF fallback IS NOT NULL THEN
        INSERT INTO keep_days
        SELECT DISTINCT d.tenant_id, today - make_interval(days => fallback::integer)
        FROM public.tallies_days d
        WHERE NOT EXISTS (SELECT FROM keep_days k WHERE k.tenant_id = d.tenant_id);
    END IF;
    DELETE FROM public.tallies_minutes t USING keep_days k
    WHERE t.tenant_id = k.tenant_id AND t.minute < k.since;
    GET DIAGNOSTICS gone = ROW_COUNT;
    dropped := dropped + gone;
    DELETE FROM public.tallies_hours t USING keep_days k
    WHERE t.tenant_id = k.tenant_id AND t.hour < k.since;
    GET DIAGNOSTICS gone = ROW_COUNT;
    dropped := dropped + gone;
    DELETE FROM public.tallies_days t USING keep_days k
    WHERE t.tenant_id = k.tenant_id AND t.day < k.since;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN dropped + gone;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_keep_days_of_tenants() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_keep_days_of_tenants() TO weir_app;

SELECT weir_open_days();

-- What was decided, counted. Gates write absolute counts of each run (`boot_id`), the statement keeps
-- the greater, readers sum: a retry cannot count twice.
--
-- `rule_id` of zeros counts whole requests, any other that rule's decisions. No foreign keys: a late
-- count of a tenant that was just deleted must not fail the counts of all others.
SET LOCAL lock_timeout = '3s';

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
    CONSTRAINT tallies_minutes_tenant_id_pkey
        PRIMARY KEY (tenant_id, rule_id, minute, namespace, boot_id)
) PARTITION BY RANGE (minute);

-- The roll-up reads a few hours of all tenants; rows come in the order of time.
CREATE INDEX tallies_minutes_minute_idx ON tallies_minutes
    USING brin (minute) WITH (pages_per_range = 16, autosummarize = on);

-- What falls outside of the days that are open, so that no flush ever fails for want of one.
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
    CONSTRAINT tallies_days_tenant_id_pkey PRIMARY KEY (tenant_id, rule_id, day, namespace)
);

CREATE INDEX tallies_days_day_idx ON tallies_days
    USING brin (day) WITH (pages_per_range = 16, autosummarize = on);

-- One row a run of a gate: until when it has reported, and the oldest minute it wrote since the last
-- roll-up. It says which hours are not rolled up, and is what the roll-up locks gates out by.
CREATE TABLE gate_flushes (
    boot_id uuid NOT NULL,
    gate_id uuid NOT NULL,
    flushed_at timestamptz NOT NULL,
    oldest_minute timestamptz NOT NULL,
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

-- The busiest subjects of ten minutes, as one gate saw them. `floor`: how often a subject that is not
-- among the entries may have asked.
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
    CONSTRAINT denials_tenant_id_id_pkey PRIMARY KEY (tenant_id, id)
);

CREATE INDEX denials_at_idx ON denials USING brin (at);

-- A tenant reads its own; a gate writes its own; the owner, under whom the housekeeping runs, all.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'tallies_minutes', 'tallies_minutes_other', 'tallies_hours', 'tallies_days', 'gate_flushes',
        'tallies_dropped', 'top_subjects', 'denials'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY %I ON %I TO CURRENT_USER USING (true)', name || '_owner', name
        );
    END LOOP;
    FOREACH name IN ARRAY ARRAY[
        'tallies_minutes', 'tallies_hours', 'tallies_days', 'top_subjects', 'denials'
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
        'tallies_minutes', 'gate_flushes', 'tallies_dropped', 'top_subjects', 'denials'
    ] LOOP
        EXECUTE format(
            'CREATE POLICY %I ON %I TO weir_gate USING (gate_id = weir_gate())',
            name || '_gate', name
        );
        EXECUTE format('GRANT SELECT, INSERT, UPDATE ON %I TO weir_gate', name);
    END LOOP;
END
$$;

GRANT SELECT ON
    tallies_minutes, tallies_hours, tallies_days, gate_flushes, tallies_dropped, top_subjects, denials
TO weir_app;

CREATE POLICY deleted_tenants_owner ON deleted_tenants FOR SELECT TO CURRENT_USER
    USING (true);

-- The counts between two times, each from the coarsest table that may serve `resolution` and is
-- complete there. Inlined into the query around it; row-level security is the caller's.
CREATE FUNCTION weir_tallies(
    tenant uuid, rule uuid, resolution text, since timestamptz, until timestamptz
) RETURNS TABLE (
    at timestamptz,
    namespace text,
    allowed bigint,
    denied bigint,
    shadow_denied bigint,
    degraded bigint,
    refunded bigint
)
LANGUAGE sql STABLE
AS $$
    WITH edge AS (
        SELECT date_trunc('hour', coalesce(min(f.oldest_minute), now()), 'UTC') AS hour
        FROM gate_flushes f
    )
    SELECT d.day, d.namespace, d.allowed, d.denied, d.shadow_denied, d.degraded, d.refunded
    FROM tallies_days d
    WHERE resolution = 'day'
        AND d.tenant_id = tenant AND d.rule_id = rule
        AND d.day >= since
        AND d.day < LEAST(until, (SELECT date_trunc('day', e.hour, 'UTC') FROM edge e))
    UNION ALL
    SELECT h.hour, h.namespace, h.allowed, h.denied, h.shadow_denied, h.degraded, h.refunded
    FROM tallies_hours h
    WHERE resolution <> 'minute'
        AND h.tenant_id = tenant AND h.rule_id = rule
        AND h.hour >= CASE
            WHEN resolution = 'hour' THEN since
            ELSE GREATEST(since, (SELECT date_trunc('day', e.hour, 'UTC') FROM edge e))
        END
        AND h.hour < LEAST(until, (SELECT e.hour FROM edge e))
    UNION ALL
    SELECT m.minute, m.namespace, m.allowed, m.denied, m.shadow_denied, m.degraded, m.refunded
    FROM tallies_minutes m
    WHERE m.tenant_id = tenant AND m.rule_id = rule
        AND m.minute >= CASE
            WHEN resolution = 'minute' THEN since
            ELSE GREATEST(since, (SELECT e.hour FROM edge e))
        END
        AND m.minute < until
$$;

-- Until when all living gates have reported, and what could not be recorded between two times.
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

-- The rules of a tenant that were counted, deleted ones too. Steps from rule to rule by the key
-- instead of reading all hours.
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

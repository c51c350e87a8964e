-- The use of each tenant on each day (of UTC), so that a provider can bill for it. Checks are exact; the rest is sampled.
SET LOCAL lock_timeout = '3s';

CREATE TABLE usage_days (
    tenant_id uuid NOT NULL,
    day date NOT NULL,
    checks bigint NOT NULL DEFAULT 0,
    -- The greatest sample of the day.
    subjects bigint NOT NULL DEFAULT 0,
    redis_bytes bigint NOT NULL DEFAULT 0,
    postgres_rows bigint NOT NULL DEFAULT 0,
    CONSTRAINT usage_days_tenant_id_day_pkey PRIMARY KEY (tenant_id, day)
);

CREATE INDEX usage_days_day_idx ON usage_days (day, tenant_id);

ALTER TABLE usage_days ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_days FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_days_operator ON usage_days FOR SELECT TO weir_app
    USING (EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator));
CREATE POLICY usage_days_owner ON usage_days TO CURRENT_ROLE
    USING (true);

GRANT SELECT ON usage_days TO weir_app;

-- The functions below run as the owner, to whom forced row-level security would show nothing.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'rules', 'overrides', 'api_keys', 'memberships', 'audit_entries',
        'webhook_deliveries', 'tenant_ceilings', 'default_ceilings'
    ] LOOP
        EXECUTE format(
            'CREATE POLICY %I ON %I FOR SELECT TO CURRENT_USER USING (true)', name || '_usage', name
        );
    END LOOP;
END
$$;

-- Writes the checks of today and yesterday, and deletes days that are older than `days`.
CREATE FUNCTION weir_roll_up_usage(days integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    since timestamptz := date_trunc('day', now()) - interval '1 day';
    edge timestamptz;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_roll_up_usage', 0)) THEN
        RETURN;
    END IF;
    SELECT date_trunc('hour', coalesce(min(f.oldest_minute), now())) INTO edge
    FROM public.gate_flushes f;
    INSERT INTO public.usage_days AS kept (tenant_id, day, checks)
    SELECT c.tenant_id, c.at::date, sum(c.checks)
    FROM (
        SELECT h.tenant_id, h.hour AS at, h.allowed + h.denied AS checks
        FROM public.tallies_hours h
        WHERE h.rule_id = '00000000-0000-0000-0000-000000000000'
            AND h.hour >= since AND h.hour < edge
        UNION ALL
        SELECT m.tenant_id, m.minute, m.allowed + m.denied
        FROM public.tallies_minutes m
        WHERE m.rule_id = '00000000-0000-0000-0000-000000000000'
            AND m.minute >= GREATEST(since, edge)
    ) c
    GROUP BY 1, 2
    ON CONFLICT ON CONSTRAINT usage_days_tenant_id_day_pkey
    DO UPDATE SET checks = GREATEST(kept.checks, excluded.checks);
    DELETE FROM public.usage_days WHERE day < now()::date - GREATEST(days, 1);
END
$$;

REVOKE EXECUTE ON FUNCTION weir_roll_up_usage(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_roll_up_usage(integer) TO weir_app;

-- Writes the samples of Redis, and counts the rows of each tenant's configuration. Returns how many of these tenants have more
-- subjects than their ceiling.
CREATE FUNCTION weir_note_usage(
    tenants uuid[], subjects bigint[], redis_bytes bigint[], subjects_ceiling bigint
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    today date := now()::date;
    over bigint;
BEGIN
    INSERT INTO public.usage_days AS kept (tenant_id, day, subjects, redis_bytes)
    SELECT s.tenant, today, s.count, s.bytes
    FROM unnest(tenants, subjects, redis_bytes) AS s (tenant, count, bytes)
    ON CONFLICT ON CONSTRAINT usage_days_tenant_id_day_pkey
    DO UPDATE SET
        subjects = GREATEST(kept.subjects, excluded.subjects),
        redis_bytes = GREATEST(kept.redis_bytes, excluded.redis_bytes);
    INSERT INTO public.usage_days AS kept (tenant_id, day, postgres_rows)
    SELECT r.tenant_id, today, sum(r.count)
    FROM (
        SELECT tenant_id, count(*) FROM public.rules GROUP BY 1
        UNION ALL
        SELECT tenant_id, count(*) FROM public.rule_revisions GROUP BY 1
        UNION ALL
        SELECT tenant_id, count(*) FROM public.overrides GROUP BY 1
        UNION ALL
        SELECT tenant_id, count(*) FROM public.api_keys GROUP BY 1
        UNION ALL
        SELECT tenant_id, count(*) FROM public.memberships GROUP BY 1
        UNION ALL
        SELECT tenant_id, count(*) FROM public.webhook_deliveries GROUP BY 1
        UNION ALL
        SELECT tenant_id, count(*) FROM public.audit_entries WHERE tenant_id IS NOT NULL GROUP BY 1
        UNION ALL
        SELECT tenant_id, count(*) FROM public.tallies_hours GROUP BY 1
        UNION ALL
        SELECT tenant_id, count(*) FROM public.tallies_days GROUP BY 1
    ) r
    GROUP BY 1
    ON CONFLICT ON CONSTRAINT usage_days_tenant_id_day_pkey
    DO UPDATE SET postgres_rows = GREATEST(kept.postgres_rows, excluded.postgres_rows);
    SELECT count(*) INTO over
    FROM unnest(tenants, subjects) AS s (tenant, count)
    WHERE s.count > coalesce(
        (
            SELECT c.value FROM public.tenant_ceilings c
            WHERE c.tenant_id = s.tenant AND c.name = 'live_subjects'
        ),
        (SELECT d.value FROM public.default_ceilings d WHERE d.name = 'live_subjects'),
        subjects_ceiling
    );
    RETURN over;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_note_usage(uuid[], bigint[], bigint[], bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_note_usage(uuid[], bigint[], bigint[], bigint) TO weir_app;

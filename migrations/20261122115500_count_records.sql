-- Counts requests of `/record`, which are neither allowed nor denied.
SET LOCAL lock_timeout = '3s';

ALTER TABLE tallies_minutes ADD COLUMN recorded bigint NOT NULL DEFAULT 0;
ALTER TABLE tallies_hours ADD COLUMN recorded bigint NOT NULL DEFAULT 0;
ALTER TABLE tallies_days ADD COLUMN recorded bigint NOT NULL DEFAULT 0;

-- As before, with the records.
CREATE OR REPLACE FUNCTION weir_roll_up(minutes_days integer, hours_days integer) RETURNS boolean
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

-- As before, with the records. The columns of a function's result cannot be replaced.
DROP FUNCTION weir_tallies(uuid, uuid, text, timestamptz, timestamptz);
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

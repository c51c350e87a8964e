-- The region of the gate that counted; empty without regions. A run of a gate is in one region, so minutes and steps have as many rows
-- as before. Hours and days have a row for each region with decisions.
SET LOCAL lock_timeout = '3s';

ALTER TABLE tallies_steps ADD COLUMN region text NOT NULL DEFAULT '';
ALTER TABLE tallies_minutes ADD COLUMN region text NOT NULL DEFAULT '';
ALTER TABLE tallies_hours ADD COLUMN region text NOT NULL DEFAULT '';
ALTER TABLE tallies_days ADD COLUMN region text NOT NULL DEFAULT '';

-- Charts and the roll-up wait for these indexes; gates do not write to these tables.
ALTER TABLE tallies_hours
    DROP CONSTRAINT tallies_hours_tenant_id_pkey,
    ADD CONSTRAINT tallies_hours_tenant_id_pkey
        PRIMARY KEY (tenant_id, rule_id, hour, namespace, region);
ALTER TABLE tallies_days
    DROP CONSTRAINT tallies_days_tenant_id_pkey,
    ADD CONSTRAINT tallies_days_tenant_id_pkey
        PRIMARY KEY (tenant_id, rule_id, day, namespace, region);

DROP FUNCTION weir_tallies(uuid, uuid, text, timestamptz, timestamptz);

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
    recorded bigint,
    region text
)
LANGUAGE sql STABLE
AS $$
    WITH edge AS (
        SELECT date_trunc('hour', coalesce(min(f.oldest_minute), now()), 'UTC') AS hour
        FROM gate_flushes f
    )
    SELECT d.day, d.namespace, d.allowed, d.denied, d.shadow_denied, d.degraded, d.refunded,
        d.recorded, d.region
    FROM tallies_days d
    WHERE resolution = 'day'
        AND d.tenant_id = tenant AND d.rule_id = rule
        AND d.day >= since
        AND d.day < LEAST(until, (SELECT date_trunc('day', e.hour, 'UTC') FROM edge e))
    UNION ALL
    SELECT h.hour, h.namespace, h.allowed, h.denied, h.shadow_denied, h.degraded, h.refunded,
        h.recorded, h.region
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
        m.recorded, m.region
    FROM tallies_minutes m
    WHERE m.tenant_id = tenant AND m.rule_id = rule
        AND m.minute >= CASE
            WHEN resolution = 'minute' THEN since
            ELSE GREATEST(since, (SELECT e.hour FROM edge e))
        END
        AND m.minute < until
$$;

-- Rolls up the minutes of completed hours into hours, and hours into days. Each hour is computed as a whole, so a repetition
-- changes nothing, and late minutes are included the next time. Returns whether there was anything to roll up. A second caller
-- at the same time does nothing.
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
        tenant_id, rule_id, hour, namespace, region, allowed, denied, shadow_denied, degraded, refunded,
        recorded
    )
    SELECT
        tenant_id, rule_id, date_trunc('hour', minute), namespace, region,
        sum(allowed), sum(denied), sum(shadow_denied), sum(degraded), sum(refunded),
        sum(recorded)
    FROM public.tallies_minutes
    WHERE minute >= since AND minute < this_hour
    GROUP BY 1, 2, 3, 4, 5
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
        tenant_id, rule_id, day, namespace, region, allowed, denied, shadow_denied, degraded, refunded,
        recorded
    )
    SELECT
        tenant_id, rule_id, date_trunc('day', hour), namespace, region,
        sum(allowed), sum(denied), sum(shadow_denied), sum(degraded), sum(refunded),
        sum(recorded)
    FROM public.tallies_hours
    WHERE hour >= since_day AND hour < this_day
    GROUP BY 1, 2, 3, 4, 5
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

-- What the control plane may have done to statistics, though it owns no table: open the next days,
-- roll minutes up, let go of what is too old. Nothing of it takes a name, or reaches younger data.
SET LOCAL lock_timeout = '3s';

-- Makes the partition of one day (of UTC), with what came too early or too late for it.
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

-- Folds the minutes of hours that are over into hours, and hours into days. Each hour is computed as
-- a whole, so doing it twice changes nothing, and minutes that came late are in it the next time.
-- True: something was done. A second caller at the same time does nothing.
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
        tenant_id, rule_id, hour, namespace, allowed, denied, shadow_denied, degraded, refunded
    )
    SELECT
        tenant_id, rule_id, date_trunc('hour', minute), namespace,
        sum(allowed), sum(denied), sum(shadow_denied), sum(degraded), sum(refunded)
    FROM public.tallies_minutes
    WHERE minute >= since AND minute < this_hour
    GROUP BY 1, 2, 3, 4
    ON CONFLICT ON CONSTRAINT tallies_hours_tenant_id_pkey
    DO UPDATE SET
        allowed = excluded.allowed,
        denied = excluded.denied,
        shadow_denied = excluded.shadow_denied,
        degraded = excluded.degraded,
        refunded = excluded.refunded;
    since_day := GREATEST(
        date_trunc('day', since), this_day - make_interval(days => GREATEST(hours_days, 1))
    );
    INSERT INTO public.tallies_days AS kept (
        tenant_id, rule_id, day, namespace, allowed, denied, shadow_denied, degraded, refunded
    )
    SELECT
        tenant_id, rule_id, date_trunc('day', hour), namespace,
        sum(allowed), sum(denied), sum(shadow_denied), sum(degraded), sum(refunded)
    FROM public.tallies_hours
    WHERE hour >= since_day AND hour < this_day
    GROUP BY 1, 2, 3, 4
    ON CONFLICT ON CONSTRAINT tallies_days_tenant_id_pkey
    DO UPDATE SET
        allowed = excluded.allowed,
        denied = excluded.denied,
        shadow_denied = excluded.shadow_denied,
        degraded = excluded.degraded,
        refunded = excluded.refunded;
    UPDATE public.gate_flushes SET oldest_minute = this_hour WHERE oldest_minute < this_hour;
    RETURN true;
END
$$;

-- Opens yesterday to the day after tomorrow, and lets go of what is older than it is kept, of deleted
-- tenants, and of denials beyond their number. Answers how many days of minutes were dropped.
CREATE FUNCTION weir_keep_statistics(
    minutes_days integer, hours_days integer, days_days integer, denials_max integer
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    today date := now()::date;
    minutes_since timestamptz := (today - GREATEST(minutes_days, 1))::timestamptz;
    part text;
    tenant uuid;
    dropped integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_keep_statistics', 0)) THEN
        RETURN 0;
    END IF;
    FOR ahead IN -1 .. 2 LOOP
        PERFORM public.weir_open_day(today + ahead);
    END LOOP;
    FOR part IN
        SELECT c.relname
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'public.tallies_minutes'::regclass
            AND c.relname ~ '^tallies_minutes_\d{8}$'
            AND to_date(right(c.relname, 8), 'YYYYMMDD') < minutes_since::date
    LOOP
        EXECUTE format('DROP TABLE public.%I', part);
        dropped := dropped + 1;
    END LOOP;
    DELETE FROM public.tallies_minutes_other WHERE minute < minutes_since;
    DELETE FROM public.tallies_dropped WHERE minute < minutes_since;
    DELETE FROM public.top_subjects WHERE at < minutes_since;
    DELETE FROM public.tallies_hours
    WHERE hour < (today - GREATEST(hours_days, 1))::timestamptz;
    DELETE FROM public.tallies_days
    WHERE day < (today - GREATEST(days_days, 1))::timestamptz;
    DELETE FROM public.gate_flushes WHERE flushed_at < now() - interval '2 days';
    DELETE FROM public.denials WHERE at < now() - interval '1 day';
    FOR tenant IN
        SELECT d.tenant_id FROM public.deleted_tenants d WHERE d.deleted_at > now() - interval '2 days'
    LOOP
        DELETE FROM public.tallies_minutes WHERE tenant_id = tenant;
        DELETE FROM public.tallies_hours WHERE tenant_id = tenant;
        DELETE FROM public.tallies_days WHERE tenant_id = tenant;
        DELETE FROM public.top_subjects WHERE tenant_id = tenant;
        DELETE FROM public.denials WHERE tenant_id = tenant;
    END LOOP;
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
    RETURN dropped;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_open_day(date) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION weir_roll_up(integer, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION weir_keep_statistics(integer, integer, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_roll_up(integer, integer) TO weir_app;
GRANT EXECUTE ON FUNCTION weir_keep_statistics(integer, integer, integer, integer) TO weir_app;

SELECT weir_keep_statistics(7, 90, 730, 10000);

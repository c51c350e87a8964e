-- Housekeeping in steps, each a transaction of its own: what locks the whole table of minutes (a new day, an old day) no
-- longer holds that lock while rows of other tables are deleted.
SET LOCAL lock_timeout = '3s';

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

-- Drops the oldest day of minutes that is older than `minutes_days`. Returns whether there was one. Nothing else is to be
-- done in the same transaction: all readers and writers of the table wait for its end. The function itself waits for them
-- for a moment only, because everybody who comes later waits behind it.
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

-- Deletes what is older than it is kept, what belongs to deleted tenants, and denials beyond their number.
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
    DELETE FROM public.denials WHERE at < now() - interval '1 day';
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

CREATE POLICY deleted_tenants_owner_delete ON deleted_tenants FOR DELETE TO CURRENT_USER
    USING (true);

DROP FUNCTION weir_keep_statistics(integer, integer, integer, integer);

REVOKE EXECUTE ON FUNCTION weir_open_days() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION weir_drop_old_day(integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION weir_delete_old_statistics(integer, integer, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_open_days() TO weir_app;
GRANT EXECUTE ON FUNCTION weir_drop_old_day(integer) TO weir_app;
GRANT EXECUTE ON FUNCTION weir_delete_old_statistics(integer, integer, integer, integer) TO weir_app;

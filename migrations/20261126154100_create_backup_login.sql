-- A login that reads all rows of all tables, for pg_dump: the policies bind the owner too. `weir migrate` calls this with the
-- password it is given. Only a superuser can give BYPASSRLS, before Postgres 16; an existing login of that name keeps it.
SET LOCAL lock_timeout = '3s';

CREATE FUNCTION weir_create_backup_login(password text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Roles belong to the whole server: another database may be migrated at the same time.
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'weir_backup') THEN
            CREATE ROLE weir_backup LOGIN BYPASSRLS;
        ELSIF NOT (SELECT rolbypassrls FROM pg_roles WHERE rolname = 'weir_backup') THEN
            ALTER ROLE weir_backup BYPASSRLS;
        END IF;
        EXECUTE format('ALTER ROLE weir_backup LOGIN INHERIT PASSWORD %L', password);
        IF NOT pg_has_role('weir_backup', 'pg_read_all_data', 'USAGE') THEN
            GRANT pg_read_all_data TO weir_backup;
        END IF;
    EXCEPTION WHEN internal_error OR unique_violation OR duplicate_object THEN
        RAISE EXCEPTION 'the login weir_backup is being changed by another session'
            USING ERRCODE = 'serialization_failure';
    END;
END
$$;
REVOKE EXECUTE ON FUNCTION weir_create_backup_login(text) FROM PUBLIC;

-- A login for each plane that is a member of its plane's role and of nothing else. `weir migrate` calls this with the
-- passwords it is given. The password is an argument, and so is in no statement that a server would log as DDL.
SET LOCAL lock_timeout = '3s';

CREATE FUNCTION weir_create_login(login text, plane text, password text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Roles belong to the whole server: another database may be migrated at the same time.
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
            EXECUTE format('CREATE ROLE %I LOGIN NOINHERIT', login);
        END IF;
        EXECUTE format('ALTER ROLE %I LOGIN NOINHERIT PASSWORD %L', login, password);
        IF NOT pg_has_role(login, plane, 'MEMBER') THEN
            EXECUTE format('GRANT %I TO %I', plane, login);
        END IF;
    EXCEPTION WHEN internal_error OR unique_violation OR duplicate_object THEN
        RAISE EXCEPTION 'the login % is being changed by somebody else', login
            USING ERRCODE = 'serialization_failure';
    END;
END
$$;
REVOKE EXECUTE ON FUNCTION weir_create_login(text, text, text) FROM PUBLIC;

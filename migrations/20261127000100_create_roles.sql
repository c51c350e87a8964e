-- The roles of the planes, the logins that take them, and the settings that scope a transaction.
SET LOCAL lock_timeout = '3s';

-- Roles belong to the whole server: another database can be migrated at the same time.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['weir_app', 'weir_gate'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT', wanted);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
        IF NOT pg_has_role(current_user, wanted, 'MEMBER') THEN
            BEGIN
                EXECUTE format('GRANT %I TO %I', wanted, current_user);
            -- "tuple concurrently updated": the other migration granted it.
            EXCEPTION WHEN internal_error OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA public TO weir_app, weir_gate;

-- Creates the login of a plane, a member of the plane's role and of nothing else. `weir migrate` calls this. The password
-- is an argument, so no statement contains it that a server logs as DDL.
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
        RAISE EXCEPTION 'the login % is being changed by another session', login
            USING ERRCODE = 'serialization_failure';
    END;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_create_login(text, text, text) FROM PUBLIC;

-- Creates a login that reads all rows of all tables, for pg_dump: the policies bind the owner too. Only a superuser can give
-- BYPASSRLS, before Postgres 16; an existing login of that name keeps it.
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

-- The migrations that were applied, for processes that compare their release with the schema. Their logins cannot read the
-- table of the migrations. The body is plpgsql, so that the table need not exist when the function is created.
CREATE FUNCTION weir_schema_versions() RETURNS bigint []
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN ARRAY(SELECT m.version FROM public._sqlx_migrations m WHERE m.success);
END
$$;

REVOKE EXECUTE ON FUNCTION weir_schema_versions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_schema_versions() TO weir_app, weir_gate;

-- The scope of a transaction: the tenant and the person whose rows it sees, and the digests of the secrets that were presented
-- to it. A setting is '', not NULL, after a transaction that set it.
CREATE FUNCTION weir_tenant() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('weir.tenant', true), '')::uuid;

CREATE FUNCTION weir_user() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('weir.user', true), '')::uuid;

CREATE FUNCTION weir_login() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('weir.login', true), '');

CREATE FUNCTION weir_session() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('weir.session', true), '')::uuid;

CREATE FUNCTION weir_key() RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN decode(nullif(current_setting('weir.key', true), ''), 'hex');

CREATE FUNCTION weir_gate() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('weir.gate', true), '')::uuid;

CREATE FUNCTION weir_invitation() RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN decode(nullif(current_setting('weir.invitation', true), ''), 'hex');

CREATE FUNCTION weir_signup() RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN decode(nullif(current_setting('weir.signup', true), ''), 'hex');

CREATE FUNCTION weir_password_reset() RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN decode(nullif(current_setting('weir.password_reset', true), ''), 'hex');

CREATE FUNCTION weir_identity() RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN decode(nullif(current_setting('weir.identity', true), ''), 'hex');

-- The two roles the processes work under, and the settings that say for whom.
--
-- Roles belong to the whole server, so several databases may be migrated at once: whoever comes
-- second finds the role, or the grant, already there.
SET LOCAL lock_timeout = '3s';

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

-- After a transaction that set it, a setting is '' and not NULL.
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

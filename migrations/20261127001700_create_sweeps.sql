-- The sweeps of expired rows. These belong to many tenants, and the app's role sees one at a time, so the owner deletes them; at
-- most `most` of a table in one statement, so that none lasts long. No sweep deletes a row that the clock of the database still
-- counts as valid. Each returns how many rows were deleted.
SET LOCAL lock_timeout = '3s';

CREATE POLICY invitations_sweep ON invitations TO CURRENT_ROLE
    USING (expires_at < now());
CREATE POLICY sessions_sweep ON sessions TO CURRENT_ROLE
    USING (expires_at < now());

-- Idempotency keys, sessions and invitations.
CREATE FUNCTION weir_sweep(at timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
DECLARE
    swept bigint := 0;
    gone bigint;
BEGIN
    DELETE FROM public.idempotency_keys WHERE ctid IN (
        SELECT ctid FROM public.idempotency_keys
        WHERE expires_at < least(at, now()) ORDER BY expires_at LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS gone = ROW_COUNT;
    swept := swept + gone;
    DELETE FROM public.sessions WHERE ctid IN (
        SELECT ctid FROM public.sessions
        WHERE expires_at < least(at, now()) ORDER BY expires_at LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS gone = ROW_COUNT;
    swept := swept + gone;
    DELETE FROM public.invitations WHERE ctid IN (
        SELECT ctid FROM public.invitations
        WHERE expires_at < least(at, now()) ORDER BY expires_at LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN swept + gone;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_sweep(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_sweep(timestamptz, integer) TO weir_app;

CREATE FUNCTION weir_sweep_signups(at timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
DECLARE
    swept bigint;
BEGIN
    DELETE FROM public.pending_signups WHERE ctid IN (
        SELECT ctid FROM public.pending_signups
        WHERE expires_at < least(at, now()) ORDER BY expires_at LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS swept = ROW_COUNT;
    RETURN swept;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_sweep_signups(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_sweep_signups(timestamptz, integer) TO weir_app;

CREATE FUNCTION weir_sweep_password_resets(at timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    swept bigint;
BEGIN
    DELETE FROM public.password_resets WHERE ctid IN (
        SELECT ctid FROM public.password_resets
        WHERE expires_at < least(at, now()) ORDER BY expires_at LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS swept = ROW_COUNT;
    RETURN swept;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_sweep_password_resets(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_sweep_password_resets(timestamptz, integer) TO weir_app;

-- Deletes changes that are older than the newest 10,000 versions and to which no row refers.
CREATE FUNCTION weir_delete_old_changes() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    deleted bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_delete_old_changes', 0)) THEN
        RETURN 0;
    END IF;
    DELETE FROM public.tenant_changes c
    WHERE c.rulebook_version <= (SELECT r.version - 10000 FROM public.rulebook_versions r)
        AND NOT EXISTS (
            SELECT FROM public.rules r
            WHERE r.tenant_id = c.tenant_id AND r.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.overrides o
            WHERE o.tenant_id = c.tenant_id AND o.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.api_keys k
            WHERE k.tenant_id = c.tenant_id AND k.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.profiles p
            WHERE p.tenant_id = c.tenant_id AND p.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.namespaces n
            WHERE n.tenant_id = c.tenant_id AND n.sequence = c.sequence
        );
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_delete_old_changes() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_delete_old_changes() TO weir_app;

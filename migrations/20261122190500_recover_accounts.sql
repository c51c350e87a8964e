-- Password resets that people request by e-mail, the sweep of resets, the time at which people were last seen, and the
-- operators' list of accounts.
SET LOCAL lock_timeout = '3s';

-- In any tenant; NULL until the first request.
ALTER TABLE users ADD COLUMN last_seen_at timestamptz;
GRANT UPDATE (last_seen_at) ON users TO weir_app;
-- In this tenant. Its members see this time and not that of the account.
ALTER TABLE memberships ADD COLUMN last_seen_at timestamptz;

CREATE INDEX password_resets_expires_at_idx ON password_resets (expires_at);

-- Stores a token for the account of an address, which a client without credentials named. Returns the account, or NULL if
-- there is none or it is disabled.
CREATE FUNCTION weir_request_password_reset(address text, token bytea, until timestamptz) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    account uuid;
BEGIN
    SELECT u.id INTO account FROM public.users u
    WHERE u.email = address AND u.disabled_at IS NULL;
    IF account IS NOT NULL THEN
        INSERT INTO public.password_resets AS issued (user_id, digest, expires_at)
        VALUES (account, token, until)
        ON CONFLICT ON CONSTRAINT password_resets_user_id_pkey
        DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at;
    END IF;
    RETURN account;
END
$$;

REVOKE ALL ON FUNCTION weir_request_password_reset(text, bytea, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_request_password_reset(text, bytea, timestamptz) TO weir_app;

-- Deletes up to `most` resets that expired before `at`, but none that the clock of the database still counts as valid.
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

REVOKE ALL ON FUNCTION weir_sweep_password_resets(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_sweep_password_resets(timestamptz, integer) TO weir_app;

-- The accounts after `after` in the order of their ids, whose address or name contains `part`; in the scope of an operator.
CREATE FUNCTION weir_list_accounts(after uuid, part text, most integer) RETURNS TABLE (
    id uuid,
    email text,
    name text,
    operator boolean,
    disabled boolean,
    second_factor boolean,
    tenants bigint,
    created_at timestamptz,
    last_seen_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM public.users u
        WHERE u.id = public.weir_user() AND u.operator AND u.disabled_at IS NULL
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'only operators list accounts';
    END IF;
    RETURN QUERY
    SELECT
        u.id,
        u.email,
        u.name,
        u.operator,
        u.disabled_at IS NOT NULL,
        EXISTS (
            SELECT FROM public.second_factors f
            WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL
        ),
        (SELECT count(*) FROM public.memberships m WHERE m.user_id = u.id),
        u.created_at,
        u.last_seen_at
    FROM public.users u
    WHERE (weir_list_accounts.after IS NULL OR u.id > weir_list_accounts.after)
        AND (
            part IS NULL
            OR position(lower(part) IN lower(u.email)) > 0
            OR position(lower(part) IN lower(u.name)) > 0
        )
    ORDER BY u.id
    LIMIT most;
END
$$;

REVOKE ALL ON FUNCTION weir_list_accounts(uuid, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_list_accounts(uuid, text, integer) TO weir_app;

-- The function counts the memberships of all accounts.
CREATE POLICY memberships_owner ON memberships FOR SELECT TO CURRENT_ROLE
    USING (true);

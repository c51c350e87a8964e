-- One identity of an account at each provider, and the end of open tokens when the credentials of an account change.
SET LOCAL lock_timeout = '3s';

-- A later identity has taken the account over by its address. The first one keeps the account, and all sessions end.
WITH later AS (
    DELETE FROM identities AS later
    USING identities AS first
    WHERE later.user_id = first.user_id
        AND later.issuer = first.issuer
        AND (first.created_at, first.digest) < (later.created_at, later.digest)
    RETURNING later.user_id
)
UPDATE sessions SET revoked_at = now()
WHERE revoked_at IS NULL AND user_id IN (SELECT user_id FROM later);

CREATE UNIQUE INDEX identities_user_id_issuer_key ON identities (user_id, issuer);
DROP INDEX identities_user_id_idx;

-- Ends the password reset and the sign-up that were open for an account before its credentials changed.
CREATE FUNCTION weir_end_tokens() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    account uuid;
BEGIN
    IF TG_TABLE_NAME = 'users' THEN
        account := NEW.id;
    ELSIF TG_OP = 'DELETE' THEN
        account := OLD.user_id;
    ELSE
        account := NEW.user_id;
    END IF;
    DELETE FROM public.password_resets WHERE user_id = account;
    DELETE FROM public.pending_signups s
    USING public.users u
    WHERE u.id = account AND s.email = u.email;
    RETURN NULL;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_end_tokens() FROM PUBLIC;

CREATE TRIGGER users_end_tokens
    AFTER INSERT OR UPDATE OF email, password_hash, operator, disabled_at ON users
    FOR EACH ROW EXECUTE FUNCTION weir_end_tokens();
CREATE TRIGGER identities_end_tokens AFTER INSERT OR DELETE ON identities
    FOR EACH ROW EXECUTE FUNCTION weir_end_tokens();
CREATE TRIGGER second_factors_end_tokens AFTER UPDATE OF confirmed_at OR DELETE ON second_factors
    FOR EACH ROW EXECUTE FUNCTION weir_end_tokens();

-- Revokes the pending invitations that the person in the scope made, of all tenants. Returns the invitations.
CREATE FUNCTION weir_revoke_own_invitations() RETURNS SETOF invitations
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    DELETE FROM public.invitations i
    USING public.users u
    WHERE u.id = public.weir_user() AND lower(i.invited_by) = u.email
    RETURNING i.*;
END
$$;

REVOKE ALL ON FUNCTION weir_revoke_own_invitations() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_revoke_own_invitations() TO weir_app;

-- The function deletes invitations of all tenants.
DROP POLICY invitations_owner ON invitations;
CREATE POLICY invitations_owner ON invitations TO CURRENT_ROLE
    USING (true);

-- The token of a pending sign-up that the control plane sends by e-mail.
SET LOCAL lock_timeout = '3s';

-- Gives the pending sign-up of an address a token and the name of a tenant, in place of earlier ones. Returns whether a sign-up of the
-- address is pending.
CREATE FUNCTION weir_issue_signup(
    address text, tenant text, token bytea, at timestamptz, until timestamptz
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE public.pending_signups
    SET tenant_name = tenant, digest = token, expires_at = until
    WHERE email = address AND expires_at > at;
    RETURN FOUND;
END
$$;

REVOKE ALL ON FUNCTION weir_issue_signup(text, text, bytea, timestamptz, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_issue_signup(text, text, bytea, timestamptz, timestamptz) TO weir_app;

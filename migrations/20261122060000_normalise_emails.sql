-- E-mail addresses are stored in one normal form (NFKC, lower case), which the control plane makes and compares.
SET LOCAL lock_timeout = '3s';

DROP INDEX users_email_key;
UPDATE users SET email = lower(normalize(email, NFKC)) WHERE email <> lower(normalize(email, NFKC));
-- Of accounts whose addresses turn out to be the same, the oldest keeps the address.
UPDATE users u SET email = 'duplicate-' || u.id || '@invalid'
WHERE EXISTS (
    SELECT FROM users o WHERE o.email = u.email AND (o.created_at, o.id) < (u.created_at, u.id)
);
CREATE UNIQUE INDEX users_email_key ON users (email);

DROP POLICY users_login ON users;
CREATE POLICY users_login ON users FOR SELECT TO weir_app
    USING (email = weir_login());

-- The owner's policy shows expired invitations only; here all must be seen.
ALTER TABLE invitations NO FORCE ROW LEVEL SECURITY;
DROP INDEX invitations_tenant_id_email_key;
UPDATE invitations SET email = lower(normalize(email, NFKC)) WHERE email <> lower(normalize(email, NFKC));
DELETE FROM invitations i
WHERE EXISTS (
    SELECT FROM invitations n WHERE n.tenant_id = i.tenant_id AND n.email = i.email AND n.id > i.id
);
CREATE UNIQUE INDEX invitations_tenant_id_email_key ON invitations (tenant_id, email);
ALTER TABLE invitations FORCE ROW LEVEL SECURITY;

-- Gates load the rows that changed, not the tenants that have them: every row says at which version of the
-- rulebook it was written, and a tenant at which one something of it was last removed.
SET LOCAL lock_timeout = '3s';

-- In a transaction that began with the next version, that version.
CREATE FUNCTION weir_rulebook_version() RETURNS bigint
LANGUAGE sql STABLE
RETURN (SELECT version FROM rulebook_versions);

-- What is there now counts as written, and as having lost something, just now.
ALTER TABLE api_keys ADD COLUMN rulebook_version bigint NOT NULL DEFAULT weir_rulebook_version();
ALTER TABLE tenants ADD COLUMN removed_version bigint NOT NULL DEFAULT weir_rulebook_version();
ALTER TABLE tenants ALTER COLUMN removed_version SET DEFAULT 0;

CREATE INDEX api_keys_rulebook_version_idx ON api_keys (rulebook_version);
CREATE INDEX rules_rulebook_version_idx ON rules (rulebook_version);
CREATE INDEX overrides_rulebook_version_idx ON overrides (rulebook_version);

-- Triggers, so that no statement can forget it: a revoked key would go on to work.
CREATE FUNCTION weir_stamp_api_key() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.rulebook_version := weir_rulebook_version();
    RETURN NEW;
END
$$;

-- Not when a gate notes that a key was used, which is no change of the rulebook.
CREATE TRIGGER api_keys_stamp
    BEFORE INSERT OR UPDATE OF
        scopes, digest, previous_digest, previous_expires_at, expires_at, revoked_at
    ON api_keys FOR EACH ROW EXECUTE FUNCTION weir_stamp_api_key();

-- Of a tenant that is deleted itself nothing is left to note it in.
CREATE FUNCTION weir_note_removal() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE tenants SET removed_version = version
    WHERE id IN (SELECT tenant_id FROM gone);
    RETURN NULL;
END
$$;

CREATE TRIGGER rules_note_removal
    AFTER DELETE ON rules REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION weir_note_removal();
CREATE TRIGGER overrides_note_removal
    AFTER DELETE ON overrides REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION weir_note_removal();

-- Two orders of changes. `tenants.sequence` numbers all changes of one tenant. The version of the rulebook numbers the
-- changes that gates serve, of all tenants, and is raised by the last statement of a transaction: the row that all tenants
-- share is locked for that statement and the commit, however long the transaction took.
SET LOCAL lock_timeout = '3s';

-- The policies of these tables bind their owner too.
ALTER TABLE tenants NO FORCE ROW LEVEL SECURITY;
ALTER TABLE rules NO FORCE ROW LEVEL SECURITY;
ALTER TABLE overrides NO FORCE ROW LEVEL SECURITY;
ALTER TABLE api_keys NO FORCE ROW LEVEL SECURITY;

-- Each version of the rulebook has a random stamp. A gate loads what changed only if the database knows the stamp of the
-- version that the gate holds. After a restore or a failover that lost commits, the same number stands for other content.
ALTER TABLE rulebook_versions ADD COLUMN stamp uuid NOT NULL DEFAULT gen_random_uuid();

CREATE TABLE rulebook_stamps (
    version bigint NOT NULL,
    stamp uuid NOT NULL,
    CONSTRAINT rulebook_stamps_version_pkey PRIMARY KEY (version)
);

INSERT INTO rulebook_stamps (version, stamp) SELECT version, stamp FROM rulebook_versions;

GRANT SELECT ON rulebook_stamps TO weir_gate;

-- Retains the newest 10,000 stamps. Versions that are not below the new one belong to a history that was abandoned.
CREATE FUNCTION weir_stamp_rulebook() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.stamp := gen_random_uuid();
    DELETE FROM public.rulebook_stamps
    WHERE version <= NEW.version - 10000 OR version >= NEW.version;
    INSERT INTO public.rulebook_stamps (version, stamp) VALUES (NEW.version, NEW.stamp);
    RETURN NEW;
END
$$;

CREATE TRIGGER rulebook_versions_stamp
    BEFORE UPDATE OF version ON rulebook_versions
    FOR EACH ROW EXECUTE FUNCTION weir_stamp_rulebook();

-- `unpublished` and `unpublished_removal` are true only inside the transaction that changed something that gates serve, or
-- removed some of it. That transaction holds the row's lock.
ALTER TABLE tenants
    ADD COLUMN sequence bigint NOT NULL DEFAULT 0,
    ADD COLUMN unpublished boolean NOT NULL DEFAULT false,
    ADD COLUMN unpublished_removal boolean NOT NULL DEFAULT false;

ALTER TABLE installation ADD COLUMN unpublished boolean NOT NULL DEFAULT false;

-- A row notes the change of its tenant that wrote it. Rows that are there keep their number: until now it was the version
-- of the rulebook.
ALTER TABLE rules RENAME COLUMN rulebook_version TO sequence;
ALTER TABLE overrides RENAME COLUMN rulebook_version TO sequence;
DROP TRIGGER api_keys_stamp ON api_keys;
DROP FUNCTION weir_stamp_api_key();
ALTER TABLE api_keys ALTER COLUMN rulebook_version DROP DEFAULT;
ALTER TABLE api_keys RENAME COLUMN rulebook_version TO sequence;
DROP INDEX rules_rulebook_version_idx;
DROP INDEX overrides_rulebook_version_idx;
DROP INDEX api_keys_rulebook_version_idx;
CREATE INDEX rules_tenant_id_sequence_idx ON rules (tenant_id, sequence);
CREATE INDEX overrides_tenant_id_sequence_idx ON overrides (tenant_id, sequence);
CREATE INDEX api_keys_tenant_id_sequence_idx ON api_keys (tenant_id, sequence);

-- The version of the rulebook from which a change of a tenant is served.
CREATE TABLE tenant_changes (
    tenant_id uuid NOT NULL,
    sequence bigint NOT NULL,
    rulebook_version bigint NOT NULL,
    CONSTRAINT tenant_changes_tenant_id_sequence_pkey PRIMARY KEY (tenant_id, sequence),
    CONSTRAINT tenant_changes_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

CREATE INDEX tenant_changes_rulebook_version_idx ON tenant_changes (rulebook_version);

INSERT INTO tenant_changes (tenant_id, sequence, rulebook_version)
SELECT tenant_id, sequence, sequence FROM rules
UNION
SELECT tenant_id, sequence, sequence FROM overrides
UNION
SELECT tenant_id, sequence, sequence FROM api_keys;

UPDATE tenants t
SET sequence = GREATEST(
    t.version,
    (SELECT max(c.sequence) FROM tenant_changes c WHERE c.tenant_id = t.id)
);

ALTER TABLE tenant_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_changes_owner ON tenant_changes TO CURRENT_USER
    USING (true);
CREATE POLICY tenant_changes_tenant ON tenant_changes TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY tenant_changes_gate ON tenant_changes FOR SELECT TO weir_gate
    USING (true);
GRANT SELECT, INSERT ON tenant_changes TO weir_app;
GRANT SELECT ON tenant_changes TO weir_gate;

-- The app's role asks whether the deletion of a tenant was published.
CREATE POLICY deleted_tenants_tenant_read ON deleted_tenants FOR SELECT TO weir_app
    USING (tenant_id = weir_tenant());
GRANT SELECT ON deleted_tenants TO weir_app;

-- Notes that this transaction changed something of a tenant that gates serve. Returns the number of the change, the same
-- one for all that a transaction changes before it publishes. Returns 0 if there is no such tenant.
CREATE FUNCTION weir_note_change(tenant uuid) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    number bigint;
BEGIN
    SELECT t.sequence INTO number FROM public.tenants t WHERE t.id = tenant AND t.unpublished;
    IF number IS NULL THEN
        UPDATE public.tenants t SET sequence = t.sequence + 1, unpublished = true
        WHERE t.id = tenant
        RETURNING t.sequence INTO number;
    END IF;
    RETURN coalesce(number, 0);
END
$$;

-- Triggers, so that no statement can forget it: a revoked key would go on to work.
CREATE FUNCTION weir_note_row() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.sequence := public.weir_note_change(NEW.tenant_id);
    RETURN NEW;
END
$$;

CREATE TRIGGER rules_note_row
    BEFORE INSERT OR UPDATE ON rules
    FOR EACH ROW EXECUTE FUNCTION weir_note_row();
CREATE TRIGGER overrides_note_row
    BEFORE INSERT OR UPDATE ON overrides
    FOR EACH ROW EXECUTE FUNCTION weir_note_row();
-- Not when a gate notes that a key was used, which is no change of the rulebook.
CREATE TRIGGER api_keys_note_row
    BEFORE INSERT OR UPDATE OF
        scopes, digest, previous_digest, previous_expires_at, expires_at, revoked_at
    ON api_keys FOR EACH ROW EXECUTE FUNCTION weir_note_row();

-- A deleted tenant has no row in which the removal could be noted. Its deletion is published instead.
CREATE OR REPLACE FUNCTION weir_note_removal() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE public.tenants t
    SET
        sequence = t.sequence + (NOT t.unpublished)::integer,
        unpublished = true,
        unpublished_removal = true
    WHERE t.id IN (SELECT gone.tenant_id FROM gone);
    RETURN NULL;
END
$$;

CREATE FUNCTION weir_note_tenant() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT NEW.unpublished THEN
        NEW.sequence := NEW.sequence + 1;
        NEW.unpublished := true;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER tenants_note_insert
    BEFORE INSERT ON tenants
    FOR EACH ROW EXECUTE FUNCTION weir_note_tenant();
CREATE TRIGGER tenants_note_update
    BEFORE UPDATE OF suspended, record_checks, enforced ON tenants
    FOR EACH ROW
    WHEN (
        (OLD.suspended, OLD.record_checks, OLD.enforced)
        IS DISTINCT FROM (NEW.suspended, NEW.record_checks, NEW.enforced)
    )
    EXECUTE FUNCTION weir_note_tenant();

-- Of the ceilings, gates enforce checks a second.
CREATE FUNCTION weir_note_ceiling() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF 'checks_per_second' IN (NEW.name, OLD.name) THEN
        PERFORM public.weir_note_change(coalesce(NEW.tenant_id, OLD.tenant_id));
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER tenant_ceilings_note
    AFTER INSERT OR UPDATE OR DELETE ON tenant_ceilings
    FOR EACH ROW EXECUTE FUNCTION weir_note_ceiling();

CREATE FUNCTION weir_note_default_ceiling() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF 'checks_per_second' IN (NEW.name, OLD.name) THEN
        UPDATE public.installation SET unpublished = true;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER default_ceilings_note
    AFTER INSERT OR UPDATE OR DELETE ON default_ceilings
    FOR EACH ROW EXECUTE FUNCTION weir_note_default_ceiling();

CREATE FUNCTION weir_note_installation() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.unpublished := true;
    RETURN NEW;
END
$$;

CREATE TRIGGER installation_note
    BEFORE UPDATE OF enforced ON installation
    FOR EACH ROW
    WHEN (OLD.enforced IS DISTINCT FROM NEW.enforced)
    EXECUTE FUNCTION weir_note_installation();

-- Raises the version of the rulebook if this transaction changed something of the tenant that gates serve, and returns the
-- new version, or NULL. An answer that is retained for repeats of the request gets the version too. Holds the row that all
-- tenants share until the end of the transaction, so it is the last statement.
CREATE FUNCTION weir_publish(tenant uuid, answer_key text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    raised bigint;
    number bigint;
BEGIN
    IF EXISTS (SELECT FROM public.tenants t WHERE t.id = tenant AND NOT t.unpublished)
        OR EXISTS (SELECT FROM public.deleted_tenants d WHERE d.tenant_id = tenant)
    THEN
        RETURN NULL;
    END IF;
    UPDATE public.rulebook_versions r SET version = r.version + 1 RETURNING r.version INTO raised;
    UPDATE public.tenants t
    SET
        version = raised,
        removed_version = CASE WHEN t.unpublished_removal THEN raised ELSE t.removed_version END,
        unpublished = false,
        unpublished_removal = false
    WHERE t.id = tenant
    RETURNING t.sequence INTO number;
    IF FOUND THEN
        INSERT INTO public.tenant_changes (tenant_id, sequence, rulebook_version)
        VALUES (tenant, number, raised);
    ELSE
        INSERT INTO public.deleted_tenants (tenant_id, version, deleted_at)
        VALUES (tenant, raised, now());
    END IF;
    IF answer_key IS NOT NULL THEN
        UPDATE public.idempotency_keys k
        SET body = jsonb_set(k.body, '{rulebook_version}', to_jsonb(raised))
        WHERE k.owner_id = tenant AND k.key = answer_key
            AND jsonb_typeof(k.body) = 'object' AND k.body ? 'rulebook_version';
    END IF;
    RETURN raised;
END
$$;

-- The same for what holds for all tenants.
CREATE FUNCTION weir_publish_installation() RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    raised bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM public.installation i WHERE i.unpublished) THEN
        RETURN NULL;
    END IF;
    UPDATE public.rulebook_versions r SET version = r.version + 1 RETURNING r.version INTO raised;
    UPDATE public.installation SET unpublished = false;
    RETURN raised;
END
$$;

-- What a transaction did not publish itself is published when it commits.
CREATE FUNCTION weir_publish_at_commit() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    CASE
        WHEN TG_TABLE_NAME = 'installation' THEN PERFORM public.weir_publish_installation();
        WHEN TG_OP = 'DELETE' THEN PERFORM public.weir_publish(OLD.id);
        ELSE PERFORM public.weir_publish(NEW.id);
    END CASE;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER tenants_unpublished_check
    AFTER INSERT OR UPDATE ON tenants
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.unpublished) EXECUTE FUNCTION weir_publish_at_commit();
CREATE CONSTRAINT TRIGGER tenants_deleted_check
    AFTER DELETE ON tenants
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION weir_publish_at_commit();
CREATE CONSTRAINT TRIGGER installation_unpublished_check
    AFTER UPDATE ON installation
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.unpublished) EXECUTE FUNCTION weir_publish_at_commit();

-- Deletes changes that are older than the newest 10,000 versions and to which no row refers. Returns how many.
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
        );
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_stamp_rulebook() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION weir_delete_old_changes() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_delete_old_changes() TO weir_app;

DROP FUNCTION weir_rulebook_version();

ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
ALTER TABLE rules FORCE ROW LEVEL SECURITY;
ALTER TABLE overrides FORCE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;

-- The version of the rulebook, and how a change reaches it.
--
-- There are two orders of changes. `tenants.sequence` numbers all changes of one tenant. The version of the rulebook numbers
-- the changes that gates serve, of all tenants. The last statement of a transaction raises it: the row that all tenants share
-- is locked for that statement and the commit, however long the transaction took.
SET LOCAL lock_timeout = '3s';

-- One row, because the numbers of a Postgres sequence can commit out of order: a gate that had seen the later number would
-- never look for the earlier one.
CREATE TABLE rulebook_versions (
    id smallint NOT NULL DEFAULT 1,
    version bigint NOT NULL,
    -- Random. A gate loads what changed only if the database knows the stamp of the version that the gate holds. After a restore
    -- or a failover that lost commits, the same number stands for other content.
    stamp uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The layout of counters in Redis, which all gates of an installation share. A release with another layout would count in
    -- other keys, so it refuses to start. See docs/operate/redis.md.
    buckets smallint NOT NULL DEFAULT 64,
    epoch smallint NOT NULL DEFAULT 1,
    CONSTRAINT rulebook_versions_id_pkey PRIMARY KEY (id),
    CONSTRAINT rulebook_versions_id_check CHECK (id = 1)
);

INSERT INTO rulebook_versions (version) VALUES (0);

-- The stamps of the newest 10,000 versions.
CREATE TABLE rulebook_stamps (
    version bigint NOT NULL,
    stamp uuid NOT NULL,
    CONSTRAINT rulebook_stamps_version_pkey PRIMARY KEY (version)
);

INSERT INTO rulebook_stamps (version, stamp) SELECT version, stamp FROM rulebook_versions;

-- The version of the rulebook from which a change of a tenant is served.
CREATE TABLE tenant_changes (
    tenant_id uuid NOT NULL,
    sequence bigint NOT NULL,
    rulebook_version bigint NOT NULL,
    -- By the clock of the database, with which the time of the report of a gate is compared.
    published_at timestamptz DEFAULT clock_timestamp(),
    CONSTRAINT tenant_changes_tenant_id_sequence_pkey PRIMARY KEY (tenant_id, sequence),
    CONSTRAINT tenant_changes_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

CREATE INDEX tenant_changes_rulebook_version_idx ON tenant_changes (rulebook_version);

-- One row: the switch that turns the limits of all tenants off.
CREATE TABLE installation (
    id smallint NOT NULL DEFAULT 1,
    enforced boolean NOT NULL DEFAULT true,
    -- As in `tenants`.
    unpublished boolean NOT NULL DEFAULT false,
    CONSTRAINT installation_id_pkey PRIMARY KEY (id),
    CONSTRAINT installation_id_check CHECK (id = 1)
);

INSERT INTO installation DEFAULT VALUES;

ALTER TABLE tenant_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_changes_tenant ON tenant_changes TO weir_app
    USING (tenant_id = weir_tenant());
-- Operators see when gates served the changes of all tenants, without the content of any change.
CREATE POLICY tenant_changes_operator ON tenant_changes FOR SELECT TO weir_app
    USING (EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator));
CREATE POLICY tenant_changes_gate ON tenant_changes FOR SELECT TO weir_gate
    USING (true);
CREATE POLICY tenant_changes_owner ON tenant_changes TO CURRENT_ROLE
    USING (true);

ALTER TABLE installation ENABLE ROW LEVEL SECURITY;
ALTER TABLE installation FORCE ROW LEVEL SECURITY;
CREATE POLICY installation_read ON installation FOR SELECT TO weir_app
    USING (true);
CREATE POLICY installation_operator ON installation FOR UPDATE TO weir_app
    USING (EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator));
CREATE POLICY installation_gate ON installation FOR SELECT TO weir_gate
    USING (true);
CREATE POLICY installation_owner ON installation TO CURRENT_ROLE
    USING (true);

GRANT SELECT, UPDATE ON rulebook_versions, installation TO weir_app;
GRANT SELECT, INSERT ON tenant_changes TO weir_app;
GRANT SELECT ON rulebook_versions, rulebook_stamps, tenant_changes, installation TO weir_gate;

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

REVOKE EXECUTE ON FUNCTION weir_stamp_rulebook() FROM PUBLIC;

CREATE TRIGGER rulebook_versions_stamp
    BEFORE UPDATE OF version ON rulebook_versions
    FOR EACH ROW EXECUTE FUNCTION weir_stamp_rulebook();

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

-- The triggers below note changes, so that no statement can omit it: a revoked key would continue to work. A row of a tenant
-- carries the number of the change that wrote it.
CREATE FUNCTION weir_note_row() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.sequence := public.weir_note_change(NEW.tenant_id);
    RETURN NEW;
END
$$;

-- A deleted tenant has no row in which the removal could be noted. Its deletion is published instead.
CREATE FUNCTION weir_note_removal() RETURNS trigger
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

-- Raises the version of the rulebook and returns it. Locks the row that all tenants share until the end of the transaction.
CREATE FUNCTION weir_raise_rulebook_version() RETURNS bigint
LANGUAGE sql
AS $$
    UPDATE public.rulebook_versions r SET version = r.version + 1 RETURNING r.version
$$;

-- Raises the version of the rulebook if this transaction changed something of the tenant that gates serve, and returns the
-- new version, or NULL. An answer that is retained for repeats of the request gets the version too. It is the last statement
-- of a transaction, because of the lock.
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
    raised := public.weir_raise_rulebook_version();
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

-- The same for the installation.
CREATE FUNCTION weir_publish_installation() RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    raised bigint;
BEGIN
    IF EXISTS (SELECT FROM public.installation i WHERE i.unpublished) THEN
        raised := public.weir_raise_rulebook_version();
        UPDATE public.installation SET unpublished = false;
    END IF;
    RETURN raised;
END
$$;

-- A commit publishes what its transaction did not publish itself.
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

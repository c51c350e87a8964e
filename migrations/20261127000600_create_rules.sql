-- Rules, their revisions, the overrides for single subjects, and the settings of namespaces.
SET LOCAL lock_timeout = '3s';

CREATE TABLE rules (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    -- The rule's body as the API writes it.
    spec jsonb NOT NULL,
    -- The counter of each limit of the body, and the next number that was never used.
    slots integer[] NOT NULL,
    next_slot integer NOT NULL,
    revision bigint NOT NULL,
    sequence bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- The regular expressions of the rule, so that the budget of a tenant is a sum: their number, and their bytes once compiled.
    patterns integer NOT NULL DEFAULT 0,
    pattern_bytes bigint NOT NULL DEFAULT 0,
    -- The set of rules as code that the rule belongs to; NULL for a rule that people edit.
    managed_by text,
    -- A digest of the rule as the last apply of its set wrote it, by which edits since then are found.
    applied_digest text,
    CONSTRAINT rules_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT rules_tenant_id_namespace_name_key UNIQUE (tenant_id, namespace, name),
    CONSTRAINT rules_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    CONSTRAINT rules_patterns_check CHECK (patterns BETWEEN 0 AND 16),
    CONSTRAINT rules_pattern_bytes_check CHECK (pattern_bytes >= 0)
);

CREATE INDEX rules_tenant_id_sequence_idx ON rules (tenant_id, sequence);

CREATE TABLE rule_revisions (
    tenant_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    revision bigint NOT NULL,
    actor_kind text NOT NULL,
    actor_id uuid,
    actor_label text NOT NULL,
    at timestamptz NOT NULL,
    before jsonb,
    after jsonb NOT NULL,
    CONSTRAINT rule_revisions_tenant_id_rule_id_revision_pkey
        PRIMARY KEY (tenant_id, rule_id, revision),
    CONSTRAINT rule_revisions_tenant_id_rule_id_fkey
        FOREIGN KEY (tenant_id, rule_id) REFERENCES rules (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT rule_revisions_actor_kind_check CHECK (actor_kind IN ('person', 'key', 'system'))
);

CREATE TABLE overrides (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    rule_id uuid NOT NULL,
    subject jsonb NOT NULL,
    subject_digest bytea NOT NULL,
    spec jsonb NOT NULL,
    reason text NOT NULL,
    expires_at timestamptz,
    revision bigint NOT NULL,
    sequence bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- As in `rules`.
    managed_by text,
    applied_digest text,
    CONSTRAINT overrides_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT overrides_tenant_id_rule_id_subject_digest_key
        UNIQUE (tenant_id, rule_id, subject_digest),
    CONSTRAINT overrides_tenant_id_rule_id_fkey
        FOREIGN KEY (tenant_id, rule_id) REFERENCES rules (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT overrides_subject_digest_check CHECK (octet_length(subject_digest) = 32)
);

CREATE INDEX overrides_tenant_id_sequence_idx ON overrides (tenant_id, sequence);
-- The overrides of a set, which an apply with `prune` reads. Most overrides belong to no set.
CREATE INDEX overrides_tenant_id_managed_by_idx ON overrides (tenant_id, managed_by)
    WHERE managed_by IS NOT NULL;
CREATE INDEX overrides_expires_at_idx ON overrides (expires_at)
    WHERE managed_by IS NULL AND expires_at IS NOT NULL;

-- A namespace without a row has the defaults. No row is ever removed, except with its tenant.
CREATE TABLE namespaces (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    -- The attributes by whose values the counters are spread; sorted. Empty: all counters are at one place.
    spread_by text[] NOT NULL,
    revision bigint NOT NULL,
    sequence bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT namespaces_tenant_id_name_pkey PRIMARY KEY (tenant_id, name),
    CONSTRAINT namespaces_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

ALTER TABLE rules ENABLE ROW LEVEL SECURITY;
ALTER TABLE rules FORCE ROW LEVEL SECURITY;
CREATE POLICY rules_tenant ON rules TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY rules_gate ON rules FOR SELECT TO weir_gate
    USING (true);
CREATE POLICY rules_owner ON rules FOR SELECT TO CURRENT_ROLE
    USING (true);

ALTER TABLE rule_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE rule_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY rule_revisions_tenant ON rule_revisions TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY rule_revisions_owner ON rule_revisions TO CURRENT_ROLE
    USING (true);

ALTER TABLE overrides ENABLE ROW LEVEL SECURITY;
ALTER TABLE overrides FORCE ROW LEVEL SECURITY;
CREATE POLICY overrides_tenant ON overrides TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY overrides_gate ON overrides FOR SELECT TO weir_gate
    USING (true);
CREATE POLICY overrides_owner ON overrides FOR SELECT TO CURRENT_ROLE
    USING (true);

ALTER TABLE namespaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE namespaces FORCE ROW LEVEL SECURITY;
CREATE POLICY namespaces_tenant ON namespaces TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY namespaces_gate ON namespaces FOR SELECT TO weir_gate
    USING (true);
CREATE POLICY namespaces_owner ON namespaces FOR SELECT TO CURRENT_ROLE
    USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON rules, overrides TO weir_app;
GRANT SELECT, INSERT ON rule_revisions TO weir_app;
GRANT SELECT, INSERT, UPDATE ON namespaces TO weir_app;
GRANT SELECT ON rules, overrides, namespaces TO weir_gate;

CREATE TRIGGER rules_note_row
    BEFORE INSERT OR UPDATE ON rules
    FOR EACH ROW EXECUTE FUNCTION weir_note_row();
CREATE TRIGGER rules_note_removal
    AFTER DELETE ON rules REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION weir_note_removal();
CREATE TRIGGER overrides_note_row
    BEFORE INSERT OR UPDATE ON overrides
    FOR EACH ROW EXECUTE FUNCTION weir_note_row();
CREATE TRIGGER overrides_note_removal
    AFTER DELETE ON overrides REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION weir_note_removal();
CREATE TRIGGER namespaces_note_row
    BEFORE INSERT OR UPDATE ON namespaces
    FOR EACH ROW EXECUTE FUNCTION weir_note_row();

-- Removes all but the newest revisions of a rule of the tenant in scope. A function, so that the app's role cannot remove
-- others.
CREATE FUNCTION weir_keep_revisions(rule uuid, most bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := public.weir_tenant();
    removed bigint;
BEGIN
    DELETE FROM public.rule_revisions r
    WHERE r.tenant_id = tenant AND r.rule_id = rule
        AND r.revision <= (
            SELECT max(n.revision) - GREATEST(most, 1) FROM public.rule_revisions n
            WHERE n.tenant_id = tenant AND n.rule_id = rule
        );
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_keep_revisions(uuid, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_keep_revisions(uuid, bigint) TO weir_app;

-- The tenants of up to `most` overrides that ended before `until` and belong to no set of rules as code. They are deleted
-- in the scope of each tenant, as by the tenant itself, so this function only finds the tenants.
CREATE FUNCTION weir_tenants_with_ended_overrides(until timestamptz, most integer)
RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT DISTINCT found.tenant_id
    FROM (
        SELECT o.tenant_id FROM public.overrides o
        WHERE o.managed_by IS NULL AND o.expires_at < least(until, now())
        ORDER BY o.expires_at
        LIMIT most
    ) found
$$;

REVOKE EXECUTE ON FUNCTION weir_tenants_with_ended_overrides(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_tenants_with_ended_overrides(timestamptz, integer) TO weir_app;

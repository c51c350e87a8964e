-- Plans: limits that replace those of rules for the customers that are on them, with their revisions; and the assignments of
-- customers to plans.
SET LOCAL lock_timeout = '3s';

-- The attribute that names the customers of a tenant.
ALTER TABLE tenants ADD COLUMN customer_attribute text;

DROP TRIGGER tenants_note_update ON tenants;
CREATE TRIGGER tenants_note_update
    BEFORE UPDATE OF suspended, record_checks, enforced, customer_attribute ON tenants
    FOR EACH ROW
    WHEN (
        (OLD.suspended, OLD.record_checks, OLD.enforced, OLD.customer_attribute)
        IS DISTINCT FROM (NEW.suspended, NEW.record_checks, NEW.enforced, NEW.customer_attribute)
    )
    EXECUTE FUNCTION weir_note_tenant();

CREATE TABLE plans (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    -- The plan's body as the API writes it.
    spec jsonb NOT NULL,
    -- The older revisions that some customers keep: `[{"revision": 3, "rules": […]}]`.
    pinned jsonb NOT NULL DEFAULT '[]',
    revision bigint NOT NULL,
    sequence bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- As in `rules`.
    managed_by text,
    applied_digest text,
    CONSTRAINT plans_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT plans_tenant_id_name_key UNIQUE (tenant_id, name),
    CONSTRAINT plans_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

CREATE INDEX plans_tenant_id_sequence_idx ON plans (tenant_id, sequence);

CREATE TABLE plan_revisions (
    tenant_id uuid NOT NULL,
    plan_id uuid NOT NULL,
    revision bigint NOT NULL,
    actor_kind text NOT NULL,
    actor_id uuid,
    actor_label text NOT NULL,
    at timestamptz NOT NULL,
    before jsonb,
    after jsonb NOT NULL,
    CONSTRAINT plan_revisions_tenant_id_plan_id_revision_pkey
        PRIMARY KEY (tenant_id, plan_id, revision),
    CONSTRAINT plan_revisions_tenant_id_plan_id_fkey
        FOREIGN KEY (tenant_id, plan_id) REFERENCES plans (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT plan_revisions_actor_kind_check CHECK (actor_kind IN ('person', 'key', 'system'))
);

-- The assignments of a customer do not overlap. A change of the customer's plan ends one and adds one, so no row that has begun is
-- deleted with its plan in force: gates learn of an end by the row.
CREATE TABLE assignments (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    customer text NOT NULL,
    -- The digest by which gates find the customer.
    customer_key bytea NOT NULL,
    plan_id uuid NOT NULL,
    -- The revision of the plan that the customer keeps. 0: the present one.
    pinned_revision bigint NOT NULL DEFAULT 0,
    starts_at timestamptz NOT NULL,
    ends_at timestamptz,
    note text NOT NULL,
    sequence bigint NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT assignments_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT assignments_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    CONSTRAINT assignments_customer_key_check CHECK (octet_length(customer_key) = 16),
    CONSTRAINT assignments_ends_at_check CHECK (ends_at >= starts_at)
);

CREATE INDEX assignments_tenant_id_sequence_idx ON assignments (tenant_id, sequence);
CREATE INDEX assignments_tenant_id_customer_key_idx
    ON assignments (tenant_id, customer_key, starts_at);
CREATE INDEX assignments_tenant_id_plan_id_idx
    ON assignments (tenant_id, plan_id, pinned_revision);
CREATE INDEX assignments_ends_at_idx ON assignments (ends_at);

ALTER TABLE plans ENABLE ROW LEVEL SECURITY;
ALTER TABLE plans FORCE ROW LEVEL SECURITY;
CREATE POLICY plans_tenant ON plans TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY plans_gate ON plans FOR SELECT TO weir_gate
    USING (true);
CREATE POLICY plans_owner ON plans FOR SELECT TO CURRENT_ROLE
    USING (true);

ALTER TABLE plan_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE plan_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY plan_revisions_tenant ON plan_revisions TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY plan_revisions_owner ON plan_revisions TO CURRENT_ROLE
    USING (true);

ALTER TABLE assignments ENABLE ROW LEVEL SECURITY;
ALTER TABLE assignments FORCE ROW LEVEL SECURITY;
CREATE POLICY assignments_tenant ON assignments TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY assignments_gate ON assignments FOR SELECT TO weir_gate
    USING (true);
CREATE POLICY assignments_owner ON assignments TO CURRENT_ROLE
    USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON plans TO weir_app;
GRANT SELECT, INSERT ON plan_revisions TO weir_app;
GRANT SELECT, INSERT, UPDATE ON assignments TO weir_app;
GRANT SELECT ON plans, assignments TO weir_gate;

CREATE TRIGGER plans_note_row
    BEFORE INSERT OR UPDATE ON plans
    FOR EACH ROW EXECUTE FUNCTION weir_note_row();
CREATE TRIGGER plans_note_removal
    AFTER DELETE ON plans REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION weir_note_removal();
CREATE TRIGGER assignments_note_row
    BEFORE INSERT OR UPDATE ON assignments
    FOR EACH ROW EXECUTE FUNCTION weir_note_row();

-- As `weir_keep_revisions` for rules.
CREATE FUNCTION weir_keep_plan_revisions(plan uuid, most bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant uuid := public.weir_tenant();
    removed bigint;
BEGIN
    DELETE FROM public.plan_revisions r
    WHERE r.tenant_id = tenant AND r.plan_id = plan
        AND r.revision <= (
            SELECT max(n.revision) - GREATEST(most, 1) FROM public.plan_revisions n
            WHERE n.tenant_id = tenant AND n.plan_id = plan
        );
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_keep_plan_revisions(uuid, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_keep_plan_revisions(uuid, bigint) TO weir_app;

-- Deletes assignments a year after their end. No gate holds a rulebook of that age, so the removal is not noted.
CREATE FUNCTION weir_sweep_assignments(at timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public
AS $$
DECLARE
    swept bigint;
BEGIN
    DELETE FROM public.assignments WHERE ctid IN (
        SELECT ctid FROM public.assignments
        WHERE ends_at < least(at, now()) - interval '365 days'
        ORDER BY ends_at LIMIT most FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS swept = ROW_COUNT;
    RETURN swept;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_sweep_assignments(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_sweep_assignments(timestamptz, integer) TO weir_app;

-- The same as before, with plans and assignments.
CREATE OR REPLACE FUNCTION weir_delete_old_changes() RETURNS bigint
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
        )
        AND NOT EXISTS (
            SELECT FROM public.plans p
            WHERE p.tenant_id = c.tenant_id AND p.sequence = c.sequence
        )
        AND NOT EXISTS (
            SELECT FROM public.assignments a
            WHERE a.tenant_id = c.tenant_id AND a.sequence = c.sequence
        );
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;

-- Rules, every revision they had, and the exceptions made for single subjects.
SET LOCAL lock_timeout = '3s';

CREATE TABLE rules (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    -- The rule's body as the API writes it.
    spec jsonb NOT NULL,
    -- Which counter each limit of the body keeps, and the next number never used.
    slots integer[] NOT NULL,
    next_slot integer NOT NULL,
    revision bigint NOT NULL,
    rulebook_version bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT rules_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT rules_tenant_id_namespace_name_key UNIQUE (tenant_id, namespace, name),
    CONSTRAINT rules_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

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
    rulebook_version bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT overrides_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT overrides_tenant_id_rule_id_subject_digest_key
        UNIQUE (tenant_id, rule_id, subject_digest),
    CONSTRAINT overrides_tenant_id_rule_id_fkey
        FOREIGN KEY (tenant_id, rule_id) REFERENCES rules (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT overrides_subject_digest_check CHECK (octet_length(subject_digest) = 32)
);

ALTER TABLE rules ENABLE ROW LEVEL SECURITY;
ALTER TABLE rules FORCE ROW LEVEL SECURITY;
CREATE POLICY rules_tenant ON rules TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY rules_gate ON rules FOR SELECT TO weir_gate
    USING (true);

ALTER TABLE rule_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE rule_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY rule_revisions_tenant ON rule_revisions TO weir_app
    USING (tenant_id = weir_tenant());

ALTER TABLE overrides ENABLE ROW LEVEL SECURITY;
ALTER TABLE overrides FORCE ROW LEVEL SECURITY;
CREATE POLICY overrides_tenant ON overrides TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY overrides_gate ON overrides FOR SELECT TO weir_gate
    USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON rules, overrides TO weir_app;
GRANT SELECT, INSERT ON rule_revisions TO weir_app;
GRANT SELECT ON rules, overrides TO weir_gate;

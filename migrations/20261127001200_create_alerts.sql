-- Alerts, and the notifications that each sent in the present period.
SET LOCAL lock_timeout = '3s';

CREATE TABLE alerts (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    webhook_id uuid NOT NULL,
    enabled boolean NOT NULL,
    kind text NOT NULL,
    rule_id uuid,
    namespace text,
    thresholds_percent smallint[] NOT NULL,
    share_percent smallint,
    window_s integer,
    checks_min bigint,
    checked_at timestamptz NOT NULL,
    fired_at timestamptz,
    -- The first announcement since the condition last ended; NULL if it does not hold.
    firing_since timestamptz,
    -- Until when nothing is announced.
    muted_until timestamptz,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- The set of rules as code that the alert belongs to; NULL for an alert that people edit.
    managed_by text,
    -- The alert as the last apply of its set wrote it, by which edits since then are found.
    applied jsonb,
    CONSTRAINT alerts_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT alerts_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    CONSTRAINT alerts_webhook_id_fkey
        FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks (tenant_id, id),
    CONSTRAINT alerts_rule_id_fkey
        FOREIGN KEY (tenant_id, rule_id) REFERENCES rules (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT alerts_kind_check CHECK (
        (kind = 'quota' AND rule_id IS NOT NULL AND cardinality(thresholds_percent) > 0)
        OR (
            kind = 'denial_share'
            AND share_percent IS NOT NULL AND window_s IS NOT NULL AND checks_min IS NOT NULL
        )
    )
);

CREATE INDEX alerts_checked_at_idx ON alerts (checked_at)
    WHERE enabled OR firing_since IS NOT NULL;
CREATE INDEX alerts_webhook_id_idx ON alerts (tenant_id, webhook_id);
CREATE INDEX alerts_rule_id_idx ON alerts (tenant_id, rule_id);
-- A set has one alert of a name.
CREATE UNIQUE INDEX alerts_tenant_id_managed_by_name_key ON alerts (tenant_id, managed_by, name)
    WHERE managed_by IS NOT NULL;

-- `mark` names the limit, the period, the subject and the threshold. A row prevents a second notification by another control
-- plane or a later evaluation.
CREATE TABLE alert_firings (
    tenant_id uuid NOT NULL,
    alert_id uuid NOT NULL,
    mark text NOT NULL,
    fired_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT alert_firings_tenant_id_alert_id_mark_pkey PRIMARY KEY (tenant_id, alert_id, mark),
    CONSTRAINT alert_firings_alert_id_fkey
        FOREIGN KEY (tenant_id, alert_id) REFERENCES alerts (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX alert_firings_expires_at_idx ON alert_firings (expires_at);

ALTER TABLE alerts ENABLE ROW LEVEL SECURITY;
ALTER TABLE alerts FORCE ROW LEVEL SECURITY;
CREATE POLICY alerts_tenant ON alerts TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY alerts_owner ON alerts TO CURRENT_ROLE
    USING (true);

ALTER TABLE alert_firings ENABLE ROW LEVEL SECURITY;
ALTER TABLE alert_firings FORCE ROW LEVEL SECURITY;
CREATE POLICY alert_firings_tenant ON alert_firings TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY alert_firings_owner ON alert_firings TO CURRENT_ROLE
    USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON alerts TO weir_app;
GRANT SELECT, INSERT, UPDATE ON alert_firings TO weir_app;

-- The alerts of all tenants that were not evaluated within `every`; the app then evaluates each in the scope of its tenant. Due
-- by the clock of the database: `at` can only be earlier. A disabled alert is taken until its end was announced.
CREATE FUNCTION weir_take_alerts(at timestamptz, every interval, most integer)
RETURNS TABLE (tenant uuid, alert uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH chosen AS (
        SELECT a.tenant_id, a.id FROM public.alerts a
        WHERE (a.enabled OR a.firing_since IS NOT NULL) AND a.checked_at <= least(at, now()) - every
        ORDER BY a.checked_at LIMIT most FOR UPDATE SKIP LOCKED
    )
    UPDATE public.alerts a SET checked_at = least(at, now())
    FROM chosen c
    WHERE a.tenant_id = c.tenant_id AND a.id = c.id
    RETURNING a.tenant_id, a.id
$$;

REVOKE EXECUTE ON FUNCTION weir_take_alerts(timestamptz, interval, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_take_alerts(timestamptz, interval, integer) TO weir_app;

-- Deletes up to `most` firings of periods that are over. Returns how many.
CREATE FUNCTION weir_forget_firings(until timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM public.alert_firings WHERE ctid IN (
            SELECT f.ctid FROM public.alert_firings f
            WHERE f.expires_at < until ORDER BY f.expires_at LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE EXECUTE ON FUNCTION weir_forget_firings(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_forget_firings(timestamptz, integer) TO weir_app;

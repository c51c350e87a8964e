-- Webhooks, and an outbox of deliveries, written in the transaction that causes them.
SET LOCAL lock_timeout = '3s';

CREATE TABLE webhooks (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    -- `standard`, `slack`, `pagerduty` or `email`. It never changes.
    kind text NOT NULL,
    -- NULL for e-mail, which has addresses instead.
    url text,
    addresses text[] NOT NULL,
    enabled boolean NOT NULL,
    -- Encrypted by the control plane with a key that is not in the database. It signs the messages of a standard webhook, and is the
    -- routing key of PagerDuty. Other kinds have none.
    secret bytea,
    previous_secret bytea,
    previous_expires_at timestamptz,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT webhooks_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhooks_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    CONSTRAINT webhooks_kind_check CHECK (
        kind IN ('standard', 'slack', 'pagerduty', 'email')
        AND (url IS NULL) = (kind = 'email')
        AND (cardinality(addresses) > 0) = (kind = 'email')
        AND (secret IS NOT NULL) = (kind IN ('standard', 'pagerduty'))
    ),
    CONSTRAINT webhooks_previous_expires_at_check
        CHECK ((previous_secret IS NULL) = (previous_expires_at IS NULL))
);

CREATE TABLE webhook_deliveries (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    webhook_id uuid NOT NULL,
    -- The kind of event, such as `alert.quota`.
    kind text NOT NULL,
    -- A text, not jsonb: the bytes are signed.
    payload text NOT NULL,
    state text NOT NULL,
    attempts integer NOT NULL,
    -- The time of the next attempt.
    next_at timestamptz NOT NULL,
    attempted_at timestamptz,
    response_status integer,
    response text,
    error text,
    took_ms bigint,
    created_at timestamptz NOT NULL,
    -- Until when a control plane can be sending it; NULL if none is. By the database's clock, so that control planes whose clocks
    -- differ never send the same delivery twice.
    leased_until timestamptz,
    CONSTRAINT webhook_deliveries_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_deliveries_webhook_id_fkey
        FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT webhook_deliveries_state_check CHECK (state IN ('pending', 'delivered', 'failed'))
);

CREATE INDEX webhook_deliveries_webhook_id_idx
    ON webhook_deliveries (tenant_id, webhook_id, id);
CREATE INDEX webhook_deliveries_next_at_idx ON webhook_deliveries (next_at)
    WHERE state = 'pending';
CREATE INDEX webhook_deliveries_tenant_id_next_at_idx ON webhook_deliveries (tenant_id, next_at)
    WHERE state = 'pending';
CREATE INDEX webhook_deliveries_created_at_idx ON webhook_deliveries (created_at)
    WHERE state <> 'pending';
-- The newest tests of webhooks, which are counted by the minute.
CREATE INDEX webhook_deliveries_tests_idx ON webhook_deliveries (tenant_id, created_at)
    WHERE kind = 'webhook.test';

ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhooks FORCE ROW LEVEL SECURITY;
CREATE POLICY webhooks_tenant ON webhooks TO weir_app
    USING (tenant_id = weir_tenant());
-- Gates deliver deferred jobs to standard webhooks. They read the address and the encrypted secrets of one tenant at a time.
CREATE POLICY webhooks_gate ON webhooks FOR SELECT TO weir_gate
    USING (tenant_id = weir_tenant() AND kind = 'standard');

ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_deliveries FORCE ROW LEVEL SECURITY;
CREATE POLICY webhook_deliveries_tenant ON webhook_deliveries TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY webhook_deliveries_owner ON webhook_deliveries TO CURRENT_ROLE
    USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks TO weir_app;
GRANT SELECT, INSERT, UPDATE ON webhook_deliveries TO weir_app;
GRANT SELECT (tenant_id, id, kind, url, enabled, secret, previous_secret, previous_expires_at)
    ON webhooks TO weir_gate;

-- Leases due deliveries of all tenants, each tenant in turn, however many one tenant has due; the app then reads and sends each
-- in the scope of its tenant. Due by the clock of the database: `at` can only be earlier, so a control plane with a clock ahead
-- sends nothing before its time.
CREATE FUNCTION weir_take_deliveries(
    at timestamptz, lease interval, most integer, most_per_tenant integer
)
RETURNS TABLE (tenant uuid, delivery uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    -- From tenant to tenant by the index, so that one tenant's backlog is not read to find the others.
    WITH RECURSIVE tenants AS (
        (
            SELECT d.tenant_id FROM public.webhook_deliveries d
            WHERE d.state = 'pending' ORDER BY d.tenant_id LIMIT 1
        )
        UNION ALL
        SELECT (
            SELECT d.tenant_id FROM public.webhook_deliveries d
            WHERE d.state = 'pending' AND d.tenant_id > t.tenant_id ORDER BY d.tenant_id LIMIT 1
        )
        FROM tenants t WHERE t.tenant_id IS NOT NULL
    ),
    due AS (
        SELECT n.tenant_id, n.id, n.next_at, n.place
        FROM tenants t
        CROSS JOIN LATERAL (
            SELECT count(*) AS leased FROM public.webhook_deliveries d
            WHERE d.tenant_id = t.tenant_id AND d.state = 'pending' AND d.next_at <= least(at, now())
                AND d.leased_until > clock_timestamp()
        ) busy
        CROSS JOIN LATERAL (
            SELECT d.tenant_id, d.id, d.next_at, row_number() OVER (ORDER BY d.next_at) AS place
            FROM public.webhook_deliveries d
            WHERE d.tenant_id = t.tenant_id AND d.state = 'pending' AND d.next_at <= least(at, now())
                AND (d.leased_until IS NULL OR d.leased_until <= clock_timestamp())
            ORDER BY d.next_at
            LIMIT GREATEST(most_per_tenant - busy.leased, 0)
        ) n
        WHERE t.tenant_id IS NOT NULL
    ),
    chosen AS (
        SELECT d.tenant_id, d.id
        FROM public.webhook_deliveries d
        WHERE (d.tenant_id, d.id) IN (
                SELECT u.tenant_id, u.id FROM due u ORDER BY u.place, u.next_at LIMIT most
            )
            AND d.state = 'pending' AND d.next_at <= least(at, now())
            AND (d.leased_until IS NULL OR d.leased_until <= clock_timestamp())
        FOR UPDATE SKIP LOCKED
    )
    UPDATE public.webhook_deliveries d SET leased_until = clock_timestamp() + lease
    FROM chosen c
    WHERE d.tenant_id = c.tenant_id AND d.id = c.id
    RETURNING d.tenant_id, d.id
$$;

REVOKE EXECUTE ON FUNCTION weir_take_deliveries(timestamptz, interval, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_take_deliveries(timestamptz, interval, integer, integer) TO weir_app;

-- Deletes up to `most` deliveries that were completed or failed and were created before `until`. Returns how many.
CREATE FUNCTION weir_forget_deliveries(until timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM public.webhook_deliveries WHERE (tenant_id, id) IN (
            SELECT d.tenant_id, d.id FROM public.webhook_deliveries d
            WHERE d.state <> 'pending' AND d.created_at < until
            ORDER BY d.created_at LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE EXECUTE ON FUNCTION weir_forget_deliveries(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_forget_deliveries(timestamptz, integer) TO weir_app;

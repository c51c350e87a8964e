-- Where a tenant wants to be told things, and what is to be told: an outbox, written in the transaction that has
-- something to tell.
SET LOCAL lock_timeout = '3s';

CREATE TABLE webhooks (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    url text NOT NULL,
    enabled boolean NOT NULL,
    -- Sealed by the control plane with a key that is not in the database: it must be able to sign.
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_expires_at timestamptz,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT webhooks_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhooks_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE,
    CONSTRAINT webhooks_previous_expires_at_check
        CHECK ((previous_secret IS NULL) = (previous_expires_at IS NULL))
);

CREATE TABLE webhook_deliveries (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    webhook_id uuid NOT NULL,
    -- What it tells, such as `alert.quota`.
    kind text NOT NULL,
    -- A text, not jsonb: the bytes are signed.
    payload text NOT NULL,
    state text NOT NULL,
    attempts integer NOT NULL,
    -- When it is tried next; while it is being tried, when it is taken to have failed.
    next_at timestamptz NOT NULL,
    attempted_at timestamptz,
    response_status integer,
    response text,
    error text,
    took_ms bigint,
    created_at timestamptz NOT NULL,
    CONSTRAINT webhook_deliveries_tenant_id_id_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_deliveries_webhook_id_fkey
        FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT webhook_deliveries_state_check CHECK (state IN ('pending', 'delivered', 'failed'))
);

CREATE INDEX webhook_deliveries_webhook_id_idx
    ON webhook_deliveries (tenant_id, webhook_id, id);
CREATE INDEX webhook_deliveries_next_at_idx ON webhook_deliveries (next_at)
    WHERE state = 'pending';
CREATE INDEX webhook_deliveries_created_at_idx ON webhook_deliveries (created_at)
    WHERE state <> 'pending';

ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhooks FORCE ROW LEVEL SECURITY;
CREATE POLICY webhooks_tenant ON webhooks TO weir_app
    USING (tenant_id = weir_tenant());
ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_deliveries FORCE ROW LEVEL SECURITY;
CREATE POLICY webhook_deliveries_tenant ON webhook_deliveries TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY webhook_deliveries_owner ON webhook_deliveries TO CURRENT_USER
    USING (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks TO weir_app;
GRANT SELECT, INSERT, UPDATE ON webhook_deliveries TO weir_app;

-- What is due belongs to many tenants, and the app's role sees one at a time. So the owner says which there are and
-- puts them off by the lease; the app then reads and sends each as its tenant. Of several control planes each gets others,
-- and a tenant with many does not keep the rest waiting.
CREATE FUNCTION weir_take_deliveries(at timestamptz, lease interval, most integer)
RETURNS TABLE (tenant uuid, delivery uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH due AS (
        SELECT d.tenant_id, d.id, d.next_at
        FROM public.webhook_deliveries d
        WHERE d.state = 'pending' AND d.next_at <= at
        ORDER BY d.next_at
        LIMIT 1000
    ),
    fair AS (
        SELECT
            u.tenant_id,
            u.id,
            u.next_at,
            row_number() OVER (PARTITION BY u.tenant_id ORDER BY u.next_at) AS place
        FROM due u
    ),
    chosen AS (
        SELECT d.tenant_id, d.id
        FROM public.webhook_deliveries d
        WHERE (d.tenant_id, d.id) IN (
                SELECT f.tenant_id, f.id FROM fair f ORDER BY f.place, f.next_at LIMIT most
            )
            AND d.state = 'pending' AND d.next_at <= at
        FOR UPDATE SKIP LOCKED
    )
    UPDATE public.webhook_deliveries d SET next_at = at + lease
    FROM chosen c
    WHERE d.tenant_id = c.tenant_id AND d.id = c.id
    RETURNING d.tenant_id, d.id
$$;

-- Lets go of what was told, or could not be, long ago.
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

REVOKE EXECUTE ON FUNCTION weir_take_deliveries(timestamptz, interval, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION weir_forget_deliveries(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_take_deliveries(timestamptz, interval, integer) TO weir_app;
GRANT EXECUTE ON FUNCTION weir_forget_deliveries(timestamptz, integer) TO weir_app;

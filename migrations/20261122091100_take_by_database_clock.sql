-- Alerts and deliveries are due by the clock of the database. The time that a control plane supplies can only be earlier, so
-- a plane with a clock ahead evaluates and sends nothing before its time.
SET LOCAL lock_timeout = '3s';

CREATE OR REPLACE FUNCTION weir_take_alerts(at timestamptz, every interval, most integer)
RETURNS TABLE (tenant uuid, alert uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH chosen AS (
        SELECT a.tenant_id, a.id FROM public.alerts a
        WHERE a.enabled AND a.checked_at <= least(at, now()) - every
        ORDER BY a.checked_at LIMIT most FOR UPDATE SKIP LOCKED
    )
    UPDATE public.alerts a SET checked_at = least(at, now())
    FROM chosen c
    WHERE a.tenant_id = c.tenant_id AND a.id = c.id
    RETURNING a.tenant_id, a.id
$$;

CREATE OR REPLACE FUNCTION weir_take_deliveries(
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

-- The used units of calendar quotas, by subject and period. A row of the present period is written again each hour and just before
-- its end; it is listed once the period has ended.
SET LOCAL lock_timeout = '3s';

CREATE TABLE quota_periods (
    tenant_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    period_end timestamptz NOT NULL,
    rule_id uuid NOT NULL,
    slot integer NOT NULL,
    -- The digest that names the counter in Redis.
    subject_key bytea NOT NULL,
    -- The digest of the values by which the counters of the namespace are spread.
    spread bigint NOT NULL,
    namespace text NOT NULL,
    rule text NOT NULL,
    subject jsonb NOT NULL,
    period text NOT NULL,
    -- The first day of the period in the time zone of the quota.
    starts_on date NOT NULL,
    used bigint NOT NULL,
    unit_limit bigint NOT NULL,
    -- The time until which `used` counts; at most the end of the period.
    counted_until timestamptz NOT NULL,
    CONSTRAINT quota_periods_tenant_id_pkey
        PRIMARY KEY (tenant_id, period_end, rule_id, slot, subject_key),
    CONSTRAINT quota_periods_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

CREATE INDEX quota_periods_tenant_id_starts_on_idx
    ON quota_periods (tenant_id, starts_on, namespace, rule);
CREATE INDEX quota_periods_period_end_idx ON quota_periods (period_end);

ALTER TABLE quota_periods ENABLE ROW LEVEL SECURITY;
ALTER TABLE quota_periods FORCE ROW LEVEL SECURITY;
CREATE POLICY quota_periods_tenant ON quota_periods TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY quota_periods_owner ON quota_periods TO CURRENT_ROLE
    USING (true);

GRANT SELECT, INSERT, UPDATE ON quota_periods TO weir_app;

-- When the counters of a tenant's quotas are read next. A control plane that takes a tenant moves the time by five minutes, and
-- sets it when it has read them.
CREATE TABLE quota_readings (
    tenant_id uuid NOT NULL,
    next_at timestamptz NOT NULL,
    CONSTRAINT quota_readings_tenant_id_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT quota_readings_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
);

CREATE INDEX quota_readings_next_at_idx ON quota_readings (next_at);

ALTER TABLE quota_readings ENABLE ROW LEVEL SECURITY;
ALTER TABLE quota_readings FORCE ROW LEVEL SECURITY;
CREATE POLICY quota_readings_tenant ON quota_readings TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY quota_readings_owner ON quota_readings TO CURRENT_ROLE
    USING (true);

GRANT SELECT, UPDATE ON quota_readings TO weir_app;

-- Takes up to `most` tenants whose reading is due. `find` adds the tenants that have quotas and no reading yet.
CREATE FUNCTION weir_take_quota_readings(at timestamptz, find boolean, most integer)
RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF find THEN
        INSERT INTO public.quota_readings (tenant_id, next_at)
        SELECT DISTINCT r.tenant_id, at
        FROM public.rules r
        WHERE r.spec -> 'limits' @> '[{"algorithm": "quota"}]'
            AND NOT EXISTS (
                SELECT FROM public.quota_readings q WHERE q.tenant_id = r.tenant_id
            )
        ON CONFLICT ON CONSTRAINT quota_readings_tenant_id_pkey DO NOTHING;
    END IF;
    RETURN QUERY
    WITH chosen AS (
        SELECT q.tenant_id FROM public.quota_readings q
        WHERE q.next_at <= at ORDER BY q.next_at LIMIT most FOR UPDATE SKIP LOCKED
    )
    UPDATE public.quota_readings q SET next_at = at + interval '5 minutes'
    FROM chosen c
    WHERE q.tenant_id = c.tenant_id
    RETURNING q.tenant_id;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_take_quota_readings(timestamptz, boolean, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_take_quota_readings(timestamptz, boolean, integer) TO weir_app;

-- Deletes up to `most` rows of periods that ended more than 25 months ago. Returns how many were deleted.
CREATE FUNCTION weir_delete_old_quota_periods(most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM public.quota_periods WHERE ctid IN (
            SELECT p.ctid FROM public.quota_periods p
            WHERE p.period_end < now() - interval '25 months'
            ORDER BY p.period_end LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE EXECUTE ON FUNCTION weir_delete_old_quota_periods(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_delete_old_quota_periods(integer) TO weir_app;

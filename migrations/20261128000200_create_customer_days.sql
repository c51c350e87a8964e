-- The counts of a tenant's customers, by day of UTC. Gates add to them in batches: the number of a batch tells one that is sent again.
SET LOCAL lock_timeout = '3s';

-- The last batch of customers' counts that a run of a gate has added.
ALTER TABLE gate_flushes ADD COLUMN customers_batch bigint NOT NULL DEFAULT 0;

CREATE TABLE customer_days (
    tenant_id uuid NOT NULL,
    -- Empty: the customers beyond the tenant's ceiling, together.
    customer text COLLATE "C" NOT NULL,
    day date NOT NULL,
    -- The null UUID counts whole checks.
    rule_id uuid NOT NULL,
    allowed bigint NOT NULL,
    denied bigint NOT NULL,
    units bigint NOT NULL,
    CONSTRAINT customer_days_tenant_id_pkey PRIMARY KEY (tenant_id, customer, day, rule_id),
    CONSTRAINT customer_days_tenant_id_fkey
        FOREIGN KEY (tenant_id) REFERENCES tenants (id) ON DELETE CASCADE
) WITH (fillfactor = 70);

CREATE INDEX customer_days_tenant_id_day_idx ON customer_days (tenant_id, day)
    WHERE rule_id = '00000000-0000-0000-0000-000000000000';
CREATE INDEX customer_days_day_idx ON customer_days (day);
CREATE INDEX assignments_tenant_id_customer_idx ON assignments (tenant_id, customer COLLATE "C");

ALTER TABLE customer_days ENABLE ROW LEVEL SECURITY;
ALTER TABLE customer_days FORCE ROW LEVEL SECURITY;
CREATE POLICY customer_days_tenant ON customer_days FOR SELECT TO weir_app
    USING (tenant_id = weir_tenant());
CREATE POLICY customer_days_owner ON customer_days TO CURRENT_ROLE
    USING (true);

GRANT SELECT ON customer_days TO weir_app;

-- The most customers of a tenant that are counted by name on one day.
CREATE FUNCTION weir_customers_per_day(tenant uuid) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT coalesce(
        (SELECT c.value FROM tenant_ceilings c
            WHERE c.tenant_id = tenant AND c.name = 'customers_per_day'),
        (SELECT d.value FROM default_ceilings d WHERE d.name = 'customers_per_day'),
        10000
    )
$$;

-- Adds the counts of a batch, unless the run has added it before. Requires that the run has reported in this transaction. Until
-- `weir_fold_customer_days` runs, a day can have twice the customers of the ceiling; those beyond are counted without a name.
CREATE FUNCTION weir_count_customers(
    boot uuid, batch bigint, tenants uuid[], customers text[], days date[], rules uuid[],
    allowed bigint[], denied bigint[], units bigint[]
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    UPDATE gate_flushes SET customers_batch = batch
    WHERE boot_id = boot AND customers_batch < batch;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO customer_days AS present (
        tenant_id, customer, day, rule_id, allowed, denied, units
    )
    WITH new AS (
        SELECT n.* FROM unnest(tenants, customers, days, rules, allowed, denied, units) n (
            tenant_id, customer, day, rule_id, allowed, denied, units
        )
        WHERE EXISTS (SELECT FROM tenants t WHERE t.id = n.tenant_id)
    ),
    room AS MATERIALIZED (
        SELECT d.tenant_id, d.day, 2 * weir_customers_per_day(d.tenant_id) - (
            SELECT count(*) FROM customer_days c
            WHERE c.tenant_id = d.tenant_id AND c.day = d.day
                AND c.rule_id = '00000000-0000-0000-0000-000000000000'
        ) AS places
        FROM (SELECT DISTINCT n.tenant_id, n.day FROM new n) d
    ),
    named AS MATERIALIZED (
        SELECT
            o.tenant_id, o.day, o.customer,
            o.is_known OR row_number() OVER (
                PARTITION BY o.tenant_id, o.day, o.is_known ORDER BY o.checks DESC
            ) <= (
                SELECT r.places FROM room r WHERE r.tenant_id = o.tenant_id AND r.day = o.day
            ) AS has_place
        FROM (
            SELECT
                n.tenant_id, n.day, n.customer, max(n.allowed + n.denied) AS checks,
                EXISTS (
                    SELECT FROM customer_days c
                    WHERE c.tenant_id = n.tenant_id AND c.day = n.day
                        AND c.customer = n.customer
                ) AS is_known
            FROM new n
            GROUP BY 1, 2, 3
        ) o
    )
    SELECT
        n.tenant_id, CASE WHEN m.has_place THEN n.customer ELSE '' END, n.day, n.rule_id,
        sum(n.allowed), sum(n.denied), sum(n.units)
    FROM new n
    JOIN named m
        ON m.tenant_id = n.tenant_id AND m.day = n.day AND m.customer = n.customer
    GROUP BY 1, 2, 3, 4
    -- All gates lock rows in this order.
    ORDER BY 1, 2, 3, 4
    ON CONFLICT ON CONSTRAINT customer_days_tenant_id_pkey
    DO UPDATE SET
        allowed = present.allowed + excluded.allowed,
        denied = present.denied + excluded.denied,
        units = present.units + excluded.units;
    RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_count_customers(
    uuid, bigint, uuid[], text[], date[], uuid[], bigint[], bigint[], bigint[]
) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_count_customers(
    uuid, bigint, uuid[], text[], date[], uuid[], bigint[], bigint[], bigint[]
) TO weir_gate;

-- Sums the customers with the fewest checks of the last days beyond the ceiling of their tenant, without their names, and deletes days
-- that are older than `days_days` or the tenant's ceiling of days. Returns how many rows were deleted.
CREATE FUNCTION weir_fold_customer_days(days_days integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    today date := now()::date;
    folded bigint;
    old bigint;
    older bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('weir_fold_customer_days', 0)) THEN
        RETURN 0;
    END IF;
    WITH full_days AS MATERIALIZED (
        SELECT d.tenant_id, d.day, d.most FROM (
            SELECT c.tenant_id, c.day, count(*) AS customers,
                weir_customers_per_day(c.tenant_id) AS most
            FROM customer_days c
            WHERE c.rule_id = '00000000-0000-0000-0000-000000000000' AND c.customer <> ''
                AND c.day >= today - 3
            GROUP BY 1, 2
        ) d
        WHERE d.customers > d.most
    ),
    ranked AS (
        SELECT
            c.tenant_id, c.day, c.customer, f.most,
            row_number() OVER (
                PARTITION BY c.tenant_id, c.day ORDER BY c.allowed + c.denied DESC, c.customer
            ) AS place
        FROM full_days f
        JOIN customer_days c ON c.tenant_id = f.tenant_id AND c.day = f.day
        WHERE c.rule_id = '00000000-0000-0000-0000-000000000000' AND c.customer <> ''
    ),
    gone AS (
        DELETE FROM customer_days c
        USING ranked r
        WHERE r.place > r.most
            AND c.tenant_id = r.tenant_id AND c.day = r.day AND c.customer = r.customer
        RETURNING c.*
    ),
    others AS (
        INSERT INTO customer_days AS present (
            tenant_id, customer, day, rule_id, allowed, denied, units
        )
        SELECT g.tenant_id, '', g.day, g.rule_id, sum(g.allowed), sum(g.denied), sum(g.units)
        FROM gone g
        GROUP BY 1, 3, 4
        ON CONFLICT ON CONSTRAINT customer_days_tenant_id_pkey
        DO UPDATE SET
            allowed = present.allowed + excluded.allowed,
            denied = present.denied + excluded.denied,
            units = present.units + excluded.units
    )
    SELECT count(*) INTO folded FROM gone;
    DELETE FROM customer_days WHERE day < today - GREATEST(days_days, 1);
    GET DIAGNOSTICS old = ROW_COUNT;
    DELETE FROM customer_days c USING tenant_ceilings k
    WHERE k.name = 'statistics_days' AND c.tenant_id = k.tenant_id
        AND c.day < today - k.value::integer;
    GET DIAGNOSTICS older = ROW_COUNT;
    RETURN folded + old + older;
END
$$;

REVOKE EXECUTE ON FUNCTION weir_fold_customer_days(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_fold_customer_days(integer) TO weir_app;

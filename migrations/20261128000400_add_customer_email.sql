-- The address of a customer in its assignment, and webhooks that send to it.
SET LOCAL lock_timeout = '3s';

ALTER TABLE assignments ADD COLUMN email text;

-- Gates load the plans of customers, and neither addresses nor texts for people.
REVOKE SELECT ON assignments FROM weir_gate;
GRANT SELECT (tenant_id, customer_key, plan_id, pinned_revision, starts_at, ends_at, sequence)
    ON assignments TO weir_gate;

ALTER TABLE webhooks DROP CONSTRAINT webhooks_kind_check;
ALTER TABLE webhooks ADD CONSTRAINT webhooks_kind_check CHECK (
    kind IN ('standard', 'slack', 'pagerduty', 'email', 'customer_email')
    AND (url IS NULL) = (kind IN ('email', 'customer_email'))
    AND (cardinality(addresses) > 0) = (kind = 'email')
    AND (secret IS NOT NULL) = (kind IN ('standard', 'pagerduty'))
);

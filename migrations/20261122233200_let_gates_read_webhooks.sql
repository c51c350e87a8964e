-- Gates deliver deferred jobs to the webhooks of a tenant. They read the address and the sealed secrets of one tenant at a
-- time; the key that opens the secrets is not in the database.
SET LOCAL lock_timeout = '3s';

CREATE POLICY webhooks_gate ON webhooks FOR SELECT TO weir_gate
    USING (tenant_id = weir_tenant());

GRANT SELECT (tenant_id, id, url, enabled, secret, previous_secret, previous_expires_at)
    ON webhooks TO weir_gate;

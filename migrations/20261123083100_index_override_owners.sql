-- The overrides of a set, which an apply with `prune` reads. Most overrides belong to no set.
SET LOCAL lock_timeout = '3s';

CREATE INDEX overrides_tenant_id_managed_by_idx ON overrides (tenant_id, managed_by)
    WHERE managed_by IS NOT NULL;

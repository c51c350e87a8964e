-- The set of rules as code that an assignment belongs to.
SET LOCAL lock_timeout = '3s';

ALTER TABLE assignments ADD COLUMN managed_by text;

CREATE INDEX assignments_tenant_id_managed_by_idx ON assignments (tenant_id, managed_by)
    WHERE managed_by IS NOT NULL;

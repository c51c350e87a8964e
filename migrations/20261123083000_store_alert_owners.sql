-- The set of rules as code that an alert belongs to, NULL for an alert that people edit; and the alert as the last apply of its
-- set wrote it, by which edits since then are found. A set has one alert of a name.
SET LOCAL lock_timeout = '3s';

ALTER TABLE alerts ADD COLUMN managed_by text, ADD COLUMN applied jsonb;

CREATE UNIQUE INDEX alerts_tenant_id_managed_by_name_key ON alerts (tenant_id, managed_by, name)
    WHERE managed_by IS NOT NULL;

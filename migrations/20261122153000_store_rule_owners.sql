-- The set of rules as code that a rule belongs to; NULL for a rule that people edit.
SET LOCAL lock_timeout = '3s';

ALTER TABLE rules ADD COLUMN managed_by text;

-- The customer whose quotas an alert watches; NULL: those of all subjects.
SET LOCAL lock_timeout = '3s';

ALTER TABLE alerts ADD COLUMN customer text;

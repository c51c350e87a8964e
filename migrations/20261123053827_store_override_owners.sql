-- The set of rules as code that an override belongs to, NULL for an override that people edit; and a digest of the override as
-- the last apply of its set wrote it, by which edits since then are found.
SET LOCAL lock_timeout = '3s';

ALTER TABLE overrides ADD COLUMN managed_by text, ADD COLUMN applied_digest text;

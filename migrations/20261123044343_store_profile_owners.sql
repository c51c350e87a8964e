-- The set of rules as code that a profile belongs to, NULL for a profile that people edit; and a digest of the profile as the
-- last apply of its set wrote it, by which edits since then are found.
SET LOCAL lock_timeout = '3s';

ALTER TABLE profiles ADD COLUMN managed_by text, ADD COLUMN applied_digest text;

-- A digest of a rule as the last apply of its set wrote it, by which edits since then are found; NULL for a rule that no apply
-- has written since this migration.
SET LOCAL lock_timeout = '3s';

ALTER TABLE rules ADD COLUMN applied_digest text;

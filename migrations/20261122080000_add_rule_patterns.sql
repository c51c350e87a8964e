-- What the regular expressions of a rule cost, so that a tenant's budget is a sum. Rules that were written before cost
-- nothing here until they are written again; gates hold the budget in any case.
SET LOCAL lock_timeout = '3s';

ALTER TABLE rules ADD COLUMN patterns integer NOT NULL DEFAULT 0;
-- Bytes once compiled.
ALTER TABLE rules ADD COLUMN pattern_bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE rules ADD CONSTRAINT rules_patterns_check CHECK (patterns BETWEEN 0 AND 16);
ALTER TABLE rules ADD CONSTRAINT rules_pattern_bytes_check CHECK (pattern_bytes >= 0);

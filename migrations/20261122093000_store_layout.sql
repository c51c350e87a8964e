-- The layout of counters in Redis, which all gates of an installation share. A release with another layout would count in
-- other keys, so it refuses to start. See docs/operate/redis.md.
SET LOCAL lock_timeout = '3s';

ALTER TABLE rulebook_versions
    ADD COLUMN buckets smallint NOT NULL DEFAULT 64,
    ADD COLUMN epoch smallint NOT NULL DEFAULT 1;

-- Gates write the busiest subjects less often than all other counts, so they are complete until an earlier time.
SET LOCAL lock_timeout = '3s';

-- Until when the busiest subjects of a run are complete. NULL for gates of earlier releases.
ALTER TABLE gate_flushes ADD COLUMN subjects_at timestamptz;

-- Until when the busiest subjects are complete: as `weir_freshness` for counts.
CREATE FUNCTION weir_subjects_freshness() RETURNS timestamptz
LANGUAGE sql STABLE
AS $$
    SELECT coalesce(
        (
            SELECT min(coalesce(f.subjects_at, f.flushed_at))
            FROM gates g JOIN gate_flushes f ON f.boot_id = g.boot_id
            WHERE g.seen_at > now() - interval '10 seconds'
        ),
        (SELECT max(coalesce(f.subjects_at, f.flushed_at)) FROM gate_flushes f),
        now()
    )
$$;

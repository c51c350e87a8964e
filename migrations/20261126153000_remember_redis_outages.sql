-- The time since when a gate does not reach Redis, by the clock of the database, and the steps of ten seconds in which checks were
-- answered without it. They give an outage its begin and its end for three days, when the other steps are long deleted.
SET LOCAL lock_timeout = '3s';

ALTER TABLE gates ADD COLUMN redis_away_since timestamptz;

-- Deletes up to `most` steps that are older than two hours. Steps of whole requests of which one in a hundred or more was answered
-- without Redis are retained for three days. Returns how many were deleted.
CREATE OR REPLACE FUNCTION weir_delete_old_steps(most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM public.tallies_steps WHERE ctid IN (
            SELECT s.ctid FROM public.tallies_steps s
            WHERE s.at < now() - interval '2 hours'
                AND (
                    s.at < now() - interval '3 days'
                    OR s.rule_id <> '00000000-0000-0000-0000-000000000000'
                    OR s.degraded = 0
                    OR s.degraded * 100 < s.allowed + s.denied
                )
            ORDER BY s.at LIMIT most FOR UPDATE SKIP LOCKED
        )
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

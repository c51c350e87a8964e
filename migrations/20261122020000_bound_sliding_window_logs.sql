-- A sliding window log keeps an entry for each admitted check, so its limit is now at most 10,000. Those with a greater
-- limit become sliding window counters of the same limit and window; where that cannot be counted exactly (limit times
-- window_ms above 2^53 - 1), the limit becomes 10,000. Revisions keep what was written.
SET LOCAL lock_timeout = '3s';

CREATE FUNCTION weir_bound_logs(limits jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
RETURN (
    SELECT coalesce(jsonb_agg(
        CASE
            WHEN item ->> 'algorithm' <> 'sliding_window_log' OR (item ->> 'limit')::numeric <= 10000
                THEN item
            WHEN (item ->> 'limit')::numeric * (item ->> 'window_ms')::numeric <= 9007199254740991
                THEN (item - 'count_denied') || '{"algorithm": "sliding_window_counter"}'
            ELSE item || '{"limit": 10000}'
        END
        ORDER BY place
    ), '[]')
    FROM jsonb_array_elements(limits) WITH ORDINALITY AS of_rule (item, place)
);

-- The policies of these tables bind their owner too.
ALTER TABLE rules NO FORCE ROW LEVEL SECURITY;
ALTER TABLE overrides NO FORCE ROW LEVEL SECURITY;
ALTER TABLE tenants NO FORCE ROW LEVEL SECURITY;

UPDATE rulebook_versions SET version = version + 1
WHERE EXISTS (
    SELECT FROM rules
    WHERE spec @? '$.limits[*] ? (@.algorithm == "sliding_window_log" && @.limit > 10000)'
) OR EXISTS (
    SELECT FROM overrides
    WHERE spec @? '$.limits[*] ? (@.algorithm == "sliding_window_log" && @.limit > 10000)'
);

UPDATE rules
SET spec = jsonb_set(spec, '{limits}', weir_bound_logs(spec -> 'limits')),
    rulebook_version = weir_rulebook_version()
WHERE spec @? '$.limits[*] ? (@.algorithm == "sliding_window_log" && @.limit > 10000)';

UPDATE overrides
SET spec = jsonb_set(spec, '{limits}', weir_bound_logs(spec -> 'limits')),
    rulebook_version = weir_rulebook_version()
WHERE spec @? '$.limits[*] ? (@.algorithm == "sliding_window_log" && @.limit > 10000)';

UPDATE tenants
SET version = weir_rulebook_version()
WHERE id IN (
    SELECT tenant_id FROM rules WHERE rulebook_version = weir_rulebook_version()
    UNION
    SELECT tenant_id FROM overrides WHERE rulebook_version = weir_rulebook_version()
);

ALTER TABLE rules FORCE ROW LEVEL SECURITY;
ALTER TABLE overrides FORCE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;

DROP FUNCTION weir_bound_logs(jsonb);

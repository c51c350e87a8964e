-- What a gate did between two heartbeats, for operators: checks of all tenants, their durations, and what the gate holds. Releases
-- that do not report it leave it null.
SET LOCAL lock_timeout = '3s';

ALTER TABLE gates
    ADD COLUMN interval_ms bigint,
    ADD COLUMN checks bigint,
    ADD COLUMN denied bigint,
    ADD COLUMN from_memory bigint,
    ADD COLUMN latency_p50_us bigint,
    ADD COLUMN latency_p99_us bigint,
    ADD COLUMN leases bigint,
    ADD COLUMN leased_units bigint,
    ADD COLUMN memory_bytes bigint;

-- For the scripts that Redis runs (crates/weir-redis/src/limiter/script).
std = "lua51"
max_line_length = 130
read_globals = {
  -- Redis' own.
  "redis", "struct", "cjson", "KEYS", "ARGV",
  -- Numbers that source.rs writes into the script.
  "CONSUME", "PEEK", "REFUND", "INSPECT", "RECORD", "RESERVE", "COMMIT", "EXHAUST", "ACQUIRE", "RENEW", "RELEASE",
  "CONSUME_ONE", "SETTLED",
  "EXHAUSTED_UNITS", "SPACING", "CONCURRENCY", "RESERVED_MAX_US", "FOREVER", "NEVER_US",
  "SLACK_US", "STEP_US", "EXACT_MAX", "COUNT_MAX", "LOGGED", "LOG_LIMIT_MAX", "BUCKET_LEVEL_MAX",
  "REFUNDED_ENTRIES_MAX", "CHARGED", "DENIED",
}
-- The functions that source.rs makes of the other files.
files["**/script/main.lua"] = {
  read_globals = {
    "subject_hash", "lengthen", "remove_dead", "bucket", "window", "charge_alone", "make_algorithm", "decide_any",
    "has_own_key", "has_five_parameters", "reservations",
  },
}

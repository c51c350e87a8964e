-- For the scripts that Redis runs (crates/weir-redis/src/limiter/script).
std = "lua51"
max_line_length = 130
read_globals = {
  -- Redis' own.
  "redis", "struct", "cjson", "KEYS", "ARGV",
  -- Numbers and forms that source.rs writes into the script.
  "CONSUME", "PEEK", "REFUND", "INSPECT", "RECORD", "RESERVE", "COMMIT", "EXHAUST", "ACQUIRE", "RENEW", "RELEASE",
  "CONSUME_ONE", "REPEATED", "KEY_REUSED", "WITHOUT_LIMITS", "UNREADABLE", "NOT_OPEN", "SETTLED",
  "EXHAUSTED_UNITS", "SLIDING_WINDOW_LOG", "SPACING", "CONCURRENCY", "RESERVED_MAX_US", "FOREVER", "NEVER_US",
  "SLACK_US", "STEP_US", "EXACT_MAX", "COUNT_MAX", "LOGGED", "LOG_LIMIT_MAX", "BUCKET_LEVEL_MAX",
  "REFUNDED_ENTRIES_MAX", "CHARGED", "DENIED", "KEEPING_LOG",
  "AS_HEADER", "AS_PERIODS", "AS_CHECK", "AS_CHECK_REST", "AS_CHARGE_TIME", "AS_RESERVATION", "AS_RULE_LIMIT", "AS_LIMIT",
  "AS_MORE_PARAMETERS", "AS_CHARGED_LEVEL", "AS_MORE_OF_RULE", "AS_BLOCK_LENGTH", "AS_DECISION", "AS_ONE_DECISION", "AS_SETTLEMENT", "AS_REPETITION",
}

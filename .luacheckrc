-- For the scripts that Redis runs (crates/weir-redis/src/limiter/script).
std = "lua51"
max_line_length = 130
read_globals = {
  -- Redis' own.
  "redis", "struct", "KEYS", "ARGV",
  -- Numbers that source.rs writes into the script.
  "CONSUME", "PEEK", "REFUND", "SLIDING_WINDOW_LOG", "QUOTA", "FOREVER",
  "SLACK_US", "STEP_US", "EXACT_MAX", "LOGGED", "BUCKET_LEVEL_MAX",
}
-- The functions that source.rs makes of the other files.
files["**/script/main.lua"] = {
  read_globals = { "subject_hash", "lengthen", "remove_dead", "bucket", "charge_log", "make_algorithm", "decide_any" },
}

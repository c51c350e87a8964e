-- leaky_bucket: a bucket whose work waits in a queue. An admitted check is delayed by the work before it, so nothing
-- is refunded.

local weir = ...
local div_ceil, settle_bucket = weir.div_ceil, weir.bucket.settle

local function settle(now, passes, cost, x, level, scale, ahead, capacity, per_us)
  local delay_ms = level > 0 and div_ceil(level + ahead * per_us, 1000 * per_us) or 0
  local remaining, reset_ms, _, at, charged = settle_bucket(now, passes, cost, x, level, scale, ahead, capacity, per_us)
  return remaining, reset_ms, delay_ms, at, charged, scale
end

return { judge = weir.bucket.judge, settle = settle }

-- The part that token_bucket and leaky_bucket share: work that drains continuously.
-- Parameters: capacity, per_us, scale (per_us / scale units leave in each microsecond).
-- State: at_us, level (in 1 / scale of a unit), scale.

local weir = ...
local time_for, div_ceil = weir.time_for, weir.div_ceil

-- The number for settle: microseconds by which the stamp is ahead of the clock, in which nothing drains.
local function judge(now, x, y, z, cost, capacity, per_us, scale)
  local level, ahead, pulled_back = 0, 0, false
  if not x or z == 0 then
    x = now
  else
    level = y
    if z ~= scale then
      -- After an edit of the rate, whole units are carried over.
      level = div_ceil(y, z) * scale
      if level > BUCKET_LEVEL_MAX then
        level = BUCKET_LEVEL_MAX
      end
    end
    if x <= now then
      level = level - (now - x) * per_us
      if level < 0 then
        level = 0
      end
      x = now
    else
      x, pulled_back = time_for(x, 0, now)
      ahead = x - now
    end
  end
  local over = level - (capacity - cost) * scale
  if over <= 0 then
    return 0, x, level, scale, ahead, pulled_back
  end
  local wait_ms = cost > capacity and FOREVER or div_ceil(over + ahead * per_us, 1000 * per_us)
  return wait_ms, x, level, scale, ahead, pulled_back
end

local function settle(_, passes, cost, x, level, scale, ahead, capacity, per_us)
  if passes then
    level = level + cost * scale
    if level > BUCKET_LEVEL_MAX then
      level = BUCKET_LEVEL_MAX
    end
  end
  local left = capacity * scale - level
  local reset_ms = level > 0 and div_ceil(level + ahead * per_us, 1000 * per_us) or 0
  return left > 0 and (left - left % scale) / scale or 0, reset_ms, 0, x, level, scale
end

weir.bucket = { judge = judge, settle = settle }

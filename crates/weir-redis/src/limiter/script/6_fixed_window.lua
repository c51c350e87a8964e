
-- fixed_window and quota: units taken since the start of the window.
-- State: start_us, taken, 0.

local function window_read(limit, _, x, y)
  _, limit.start, limit.taken, limit.stop =
    judge_window(x, y, 0, limit.a, limit.kind, limit.b, limit.c, limit.d, limit.e)
end

local function window_wait(limit, cost, now)
  if cost > limit.a then
    return FOREVER
  end
  if limit.taken + cost <= limit.a then
    return 0
  end
  return ms_until(limit.stop, now)
end

local function window_charge(limit, cost)
  limit.taken = limit.taken + cost
end

local function window_refund(limit, cost)
  limit.taken = max(0, limit.taken - cost)
end

local function window_level(limit, now)
  local reset = limit.taken > 0 and ms_until(limit.stop, now) or 0
  return max(0, limit.a - limit.taken), reset
end

local function window_state(limit)
  return limit.start, limit.taken, 0
end


-- fixed_window and quota: units taken since the start of the window.
-- State: expires_ms, start_us, taken.

local function window_read(limit)
  local _
  _, limit.start, limit.taken, limit.expires, limit.stop = judge_window(
    call('GET', limit.key), 0, limit.a, limit.kind, limit.b, limit.c, limit.d, limit.e)
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

local function window_write(limit, reset_ms, grace_ms)
  local expires, keeps = expiry(limit.expires, reset_ms, grace_ms)
  put(limit.key, pack('<ddd', expires, limit.start, limit.taken), expires, keeps)
end

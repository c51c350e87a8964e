
-- spacing: when a request was last admitted.
-- State: expires_ms, last_us.

local function spacing_read(limit, now)
  limit.at, limit.free = now, nil
  local state = call('GET', limit.key)
  if not state then
    return
  end
  local last
  limit.expires, last = unpack('<dd', state)
  local at = believed(last, now)
  if at then
    limit.at = at
    limit.free = last + limit.a > at and last + limit.a or nil
  end
end

local function spacing_wait(limit, _, now)
  return limit.free and ms_until(limit.free, now) or 0
end

local function spacing_charge(limit)
  limit.free = limit.at + limit.a
end

local function spacing_refund(limit)
  limit.free = nil
end

local function spacing_level(limit, now)
  if limit.free then
    return 0, ms_until(limit.free, now)
  end
  return 1, 0
end

local function spacing_write(limit, reset_ms, grace_ms)
  local expires, keeps = expiry(limit.expires, reset_ms, grace_ms)
  put(limit.key, pack('<dd', expires, limit.free and limit.free - limit.a or 0), expires, keeps)
end


-- spacing: when a request was last admitted.
-- State: last_us.

local function spacing_read(limit, now)
  limit.at = now
  local state = call('GET', limit.key)
  if not state then
    return
  end
  local last = unpack('<d', state)
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

local function spacing_state(limit)
  return pack('<d', limit.free and limit.free - limit.a or 0)
end

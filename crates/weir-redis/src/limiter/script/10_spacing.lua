
-- spacing: when a request was last admitted.
-- State: last_us, 0, 0.

local function spacing_read(limit, now, last)
  limit.at, limit.free = now, nil
  local at = last and believed(last, now)
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
  return limit.free and limit.free - limit.a or 0, 0, 0
end


-- sliding_window_counter: units of the present aligned window and of the one before.
-- State: start_us, current, previous.

local function counter_read(limit, now, start, current, previous)
  local at = start and believed(start, now)
  if not at then
    start, current, previous, at = 0, 0, 0, now
  end
  limit.start = at - at % limit.b
  if start + limit.b < limit.start then
    current, previous = 0, 0
  elseif start < limit.start then
    current, previous = 0, current
  end
  limit.window_ms = limit.b / 1000
  limit.elapsed_ms = floor((at - limit.start) / 1000)
  local most = floor(EXACT_MAX / limit.window_ms)
  limit.current, limit.previous = min(current, most), min(previous, most)
end

local function counter_used(limit)
  local left_ms = limit.window_ms - limit.elapsed_ms
  return floor(limit.previous * left_ms / limit.window_ms) + limit.current
end

-- Milliseconds into a window at which the weight of `previous` has fallen to `room`.
local function counter_slid_out(limit, previous, room)
  if previous == 0 then
    return 0
  end
  local still_in = div_ceil((room + 1) * limit.window_ms, previous)
  return min(limit.window_ms, max(0, limit.window_ms + 1 - still_in))
end

local function counter_wait(limit, cost, now)
  if cost > limit.a then
    return FOREVER
  end
  if counter_used(limit) + cost <= limit.a then
    return 0
  end
  local elapsed_ms
  local room = limit.a - limit.current - cost
  if room >= 0 then
    elapsed_ms = counter_slid_out(limit, limit.previous, room)
  else
    elapsed_ms = limit.window_ms + counter_slid_out(limit, limit.current, limit.a - cost)
  end
  return ms_until(limit.start + elapsed_ms * 1000, now)
end

local function counter_charge(limit, cost)
  limit.current = limit.current + cost
end

local function counter_refund(limit, cost)
  local from_current = min(cost, limit.current)
  limit.current = limit.current - from_current
  limit.previous = max(0, limit.previous - (cost - from_current))
end

local function counter_level(limit, now)
  local remaining = max(0, limit.a - counter_used(limit))
  if limit.current > 0 then
    return remaining, ms_until(limit.start + 2 * limit.b, now)
  elseif limit.previous > 0 then
    return remaining, ms_until(limit.start + limit.b, now)
  end
  return remaining, 0
end

local function counter_state(limit)
  return limit.start, limit.current, limit.previous
end

-- fixed_window, in windows aligned to the epoch.
-- Parameters: limit, window_us. State: start_us, taken, end_us (0: unknown).

local now, ms_until, time_for = ...

local function judge(x, y, _, cost, limit, window_us)
  local at, pulled_back = now, false
  if x and x > now then
    at, pulled_back = time_for(x, now - now % window_us + window_us, now)
  end
  local start = at - at % window_us
  local stop = start + window_us
  local taken = x and x >= start and y or 0
  if taken + cost <= limit then
    return 0, start, taken, stop, stop, pulled_back
  end
  return cost > limit and FOREVER or ms_until(stop, now), start, taken, stop, stop, pulled_back
end

local function settle(passes, cost, start, taken, stop, _, limit)
  if passes then
    taken = taken + cost
  end
  local remaining = taken < limit and limit - taken or 0
  return remaining, taken > 0 and ms_until(stop, now) or 0, 0, start, taken, stop
end

-- Units return to the window from which they were taken.
local function refund(start, taken, stop, cost, pulled_back, stored_start, stored_stop)
  if pulled_back or (stored_start == start and (stored_stop == stop or stored_stop == 0)) then
    return start, taken > cost and taken - cost or 0, stop
  end
end

return judge, settle, refund

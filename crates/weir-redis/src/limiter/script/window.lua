-- The part that fixed_window and quota share: units are counted from the start to the end of a window.
-- The first parameter is the limit. State: start_us, taken, end_us (0: unknown).

local ms_until = ...

-- Judges a charge in the window that holds the present time.
local function judge(now, x, y, cost, limit, start, stop, pulled_back)
  local taken = x and x >= start and y or 0
  if taken + cost <= limit then
    return 0, start, taken, stop, stop, pulled_back
  end
  return cost > limit and FOREVER or ms_until(stop, now), start, taken, stop, stop, pulled_back
end

local function settle(now, passes, cost, start, taken, stop, _, limit)
  if passes then
    taken = taken + cost
    if taken > COUNT_MAX then
      taken = COUNT_MAX
    end
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

-- The part that fixed_window and quota share: units are counted from the start to the end of a window.
-- The first parameter is the limit. State: the time at which units were last taken, taken, end_us (0: unknown). If the window
-- is edited, the units count in the new one if the last of them were taken in it. (Earlier releases stored the start of the
-- window in place of the time.)

local weir = ...
local ms_until = weir.ms_until

-- Judges a charge in the window that holds the present time. taken_at: the time to store.
local function judge(now, x, y, cost, limit, start, stop, taken_at, pulled_back)
  local taken = x and x >= start and y or 0
  if taken + cost <= limit then
    return 0, taken_at, taken, stop, start, pulled_back
  end
  return (cost > limit or stop == NEVER_US) and FOREVER or ms_until(stop, now), taken_at, taken, stop, start, pulled_back
end

local function settle(now, passes, cost, taken_at, taken, stop, _, limit)
  if passes then
    taken = taken + cost
    if taken > COUNT_MAX then
      taken = COUNT_MAX
    end
  end
  local remaining = taken < limit and limit - taken or 0
  return remaining, taken > 0 and ms_until(stop, now) or 0, 0, taken_at, taken, stop
end

-- Units return to the window from which they were taken.
local function refund(taken_at, taken, stop, start, cost, pulled_back, stored_at, stored_stop, _, charged_us)
  local newest = pulled_back and taken_at or stored_at
  if taken > 0 and (pulled_back or (newest >= start and (stored_stop == stop or stored_stop == 0)))
      and (charged_us == 0 or (charged_us >= start and charged_us <= newest)) then
    return newest, taken > cost and taken - cost or 0, stop
  end
end

weir.window = { judge = judge, settle = settle, refund = refund }

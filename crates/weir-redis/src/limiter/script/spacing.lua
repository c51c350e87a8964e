-- spacing, independent of the cost.
-- Parameter: interval_us. State: last_us (0: nothing was admitted).

local weir = ...
local ms_until, time_for = weir.ms_until, weir.time_for

-- The number for settle: the time that holds.
local function judge(now, x, _, _, _, interval_us)
  if not x or x == 0 then
    return 0, 0, 0, 0, now, false
  end
  local at, pulled_back = now, false
  if x > now then
    at, pulled_back = time_for(x, 0, now)
    x = at
  end
  return x + interval_us > at and ms_until(x + interval_us, now) or 0, x, 0, 0, at, pulled_back
end

local function settle(now, passes, _, x, _, _, at, interval_us)
  if passes then
    x = at
  end
  if x + interval_us > at then
    return 0, ms_until(x + interval_us, now), 0, x, 0, 0
  end
  return 1, 0, 0, x, 0, 0
end

local function refund(x, _, _, at, _, _, _, _, _, charged_us, _, _, interval_us)
  if x > 0 and x + interval_us > at and (charged_us == 0 or charged_us == x) then
    return 0, 0, 0
  end
end

return { judge = judge, settle = settle, refund = refund }

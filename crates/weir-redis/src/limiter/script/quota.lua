-- quota: as fixed_window, in calendar periods that the gate resolves.
-- Parameters: limit, starts of the previous, present and next period, end of the next one. State: that of window.lua.

local ms_until, time_for, _, shared = ...

local judge_window, settle, refund = shared.window(ms_until)

local function judge(now, x, y, _, cost, limit, previous, present, next, last)
  local at, pulled_back = now, false
  if x and x > now then
    at, pulled_back = time_for(x, (now < present and present) or (now < next and next) or last, now)
  end
  local start, stop = next, last
  if at < present then
    start, stop = previous, present
  elseif at < next then
    start, stop = present, next
  end
  return judge_window(now, x, y, cost, limit, start, stop, pulled_back)
end

return judge, settle, refund

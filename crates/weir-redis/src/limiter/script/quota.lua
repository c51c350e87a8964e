-- quota: as fixed_window, in calendar periods that the gate resolves.
-- Parameters: limit, starts of the previous, present and next period, end of the next one. State: that of window.lua.

local weir = ...
local time_for, window = weir.time_for, weir.window
local judge_window = window.judge

local function judge(now, x, y, _, cost, limit, previous, present, next, last)
  local at, taken_at, pulled_back = now, now, false
  if x and x > now then
    taken_at = x
    local start = (x < present and previous) or (x < next and present) or next
    if start > now then
      at, pulled_back = time_for(start, (now < present and present) or (now < next and next) or last, now)
      taken_at = pulled_back and now or x
    end
  end
  local start, stop = next, last
  if at < present then
    start, stop = previous, present
  elseif at < next then
    start, stop = present, next
  end
  return judge_window(now, x, y, cost, limit, start, stop, taken_at, pulled_back)
end

return { judge = judge, settle = window.settle, refund = window.refund }

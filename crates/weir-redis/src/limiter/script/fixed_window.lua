-- fixed_window, in windows aligned to the epoch.
-- Parameters: limit, window_us. State: that of window.lua.

local weir = ...
local time_for, window = weir.time_for, weir.window
local judge_window = window.judge

local function judge(now, x, y, _, cost, limit, window_us)
  local at, taken_at, pulled_back = now, now, false
  if x and x > now then
    taken_at = x
    if x - x % window_us > now then
      at, pulled_back = time_for(x - x % window_us, now - now % window_us + window_us, now)
      taken_at = pulled_back and now or x
    end
  end
  local start = at - at % window_us
  return judge_window(now, x, y, cost, limit, start, start + window_us, taken_at, pulled_back)
end

return { judge = judge, settle = window.settle, refund = window.refund }

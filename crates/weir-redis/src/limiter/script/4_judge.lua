
-- What each algorithm but the log does with a cost. The twins are in weir-domain/src/algorithm.
--
-- States, x y z:
--   fixed_window, quota      start_us, taken, end_us (0: not known)
--   sliding_window_counter   start_us, current, previous
--   token and leaky bucket   at_us, level (in 1 / scale of a unit), scale
--   spacing                  last_us, 0, 0
--
-- A step of the clock: a time x up to SLACK_US ahead of now holds, and time stands still for that counter. So does the
-- start of the next window, up to STEP_US ahead. A time further ahead was written before the clock was set back: it is
-- pulled back to now (a window's to the present window), and what was counted stays. That is written even if the check
-- is denied, so that nobody waits longer than the limit says.

local STEP_US = 60000000

-- Judges a cost. Returns the wait in ms (0: passes), the state as it is now, a number that settle needs, and
-- whether x was pulled back.
local function judge(kind, x, y, z, cost, a, b, c, d, e)
  local pulled = false
  if kind == 4 or kind == 5 then
    local level, ahead = 0, 0
    if not x or z == 0 then
      x = now
    else
      level = y
      if z ~= c then
        level = min(div_ceil(y, z) * c, floor(EXACT_MAX / 2))
      end
      if x <= now then
        level = max(0, level - (now - x) * b)
        x = now
      elseif x <= now + SLACK_US then
        ahead = x - now
      else
        x, pulled = now, true
      end
    end
    local over = level - (a - cost) * c
    if over <= 0 then
      return 0, x, level, c, ahead, pulled
    end
    return cost > a and FOREVER or div_ceil(over + ahead * b, 1000 * b), x, level, c, ahead, pulled
  end
  if kind == 6 then
    if not x then
      return 0, 0, 0, 0, now, false
    end
    if x > now + SLACK_US then
      x, pulled = now, true
    end
    local at = max(x, now)
    return x + a > at and ms_until(x + a, now) or 0, x, 0, 0, at, pulled
  end

  -- Windows.
  local at = now
  if x and x > now then
    local stop = (kind ~= 7 and now - now % b + b) or (now < c and c) or (now < d and d) or e
    if x <= now + SLACK_US or (x <= stop and x <= now + STEP_US) then
      at = x
    else
      pulled = true
    end
  end
  if kind == 3 then
    local start, current, previous, window_ms = at - at % b, 0, 0, b / 1000
    if x and x >= start then
      current, previous = y, z
    elseif x and x + b >= start then
      previous = y
    end
    local most = floor(EXACT_MAX / window_ms)
    current, previous = min(current, most), min(previous, most)
    local left_ms = window_ms - floor((at - start) / 1000)
    if floor(previous * left_ms / window_ms) + current + cost <= a then
      return 0, start, current, previous, left_ms, pulled
    end
    if cost > a then
      return FOREVER, start, current, previous, left_ms, pulled
    end
    -- How far into a window the weight of `before` has fallen to the room that is left: this window, or the next.
    local room, before, elapsed_ms = a - current - cost, previous, 0
    if room < 0 then
      room, before, elapsed_ms = a - cost, current, window_ms
    end
    if before > 0 then
      local still_in = div_ceil((room + 1) * window_ms, before)
      elapsed_ms = elapsed_ms + min(window_ms, max(0, window_ms + 1 - still_in))
    end
    return ms_until(start + elapsed_ms * 1000, now), start, current, previous, left_ms, pulled
  end
  local start, stop
  if kind == 1 then
    start = at - at % b
    stop = start + b
  elseif at < c then
    start, stop = b, c
  elseif at < d then
    start, stop = c, d
  else
    start, stop = d, e
  end
  local taken = x and x >= start and y or 0
  if taken + cost <= a then
    return 0, start, taken, stop, stop, pulled
  end
  return cost > a and FOREVER or ms_until(stop, now), start, taken, stop, stop, pulled
end

-- Charges a judged state if it takes the cost. Returns remaining, reset_ms, delay_ms and the state.
local function settle(kind, takes, cost, x, y, z, w, a, b, c)
  if kind == 4 or kind == 5 then
    local carried, per_ms, delay_ms = w * b, 1000 * b, 0
    if kind == 5 and y > 0 then
      delay_ms = div_ceil(y + carried, per_ms)
    end
    if takes then
      y = y + cost * c
    end
    return floor(max(0, a * c - y) / c), y > 0 and div_ceil(y + carried, per_ms) or 0, delay_ms, x, y, z
  elseif kind == 6 then
    if takes then
      x = w
    end
    if x + a > w then
      return 0, ms_until(x + a, now), 0, x, 0, 0
    end
    return 1, 0, 0, x, 0, 0
  end
  if takes then
    y = y + cost
  end
  if kind == 3 then
    local remaining, reset_ms = max(0, a - floor(z * w / (b / 1000)) - y), 0
    if y > 0 then
      reset_ms = ms_until(x + 2 * b, now)
    elseif z > 0 then
      reset_ms = ms_until(x + b, now)
    end
    return remaining, reset_ms, 0, x, y, z
  end
  return max(0, a - y), y > 0 and ms_until(w, now) or 0, 0, x, y, z
end

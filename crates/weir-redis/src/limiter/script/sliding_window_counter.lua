-- sliding_window_counter: the units of two aligned windows estimate those of the sliding one.
-- Parameters: limit, window_us. State: start_us, current, previous, and window_us as a fourth number.

local ms_until, time_for, div_ceil = ...

-- The number for settle: milliseconds for which the previous window still counts.
local function judge(now, x, y, z, cost, limit, window_us)
  local at, pulled_back = now, false
  if x and x > now then
    at, pulled_back = time_for(x, now - now % window_us + window_us, now)
  end
  local start, current, previous, window_ms = at - at % window_us, 0, 0, window_us / 1000
  if x and x >= start then
    current, previous = y, z
  elseif x and x + window_us >= start then
    previous = y
  end
  if current * window_ms > EXACT_MAX or previous * window_ms > EXACT_MAX then
    -- Counts from before an edit of the limit: their products stay exact.
    local most = math.floor(EXACT_MAX / window_ms)
    current, previous = math.min(current, most), math.min(previous, most)
  end
  -- While time stands still, it stands at the start of the window.
  local elapsed_us = now > start and now - start or 0
  local left_ms = window_ms - (elapsed_us - elapsed_us % 1000) / 1000
  local weighted = previous * left_ms
  if (weighted - weighted % window_ms) / window_ms + current + cost <= limit then
    return 0, start, current, previous, left_ms, pulled_back
  end
  if cost > limit then
    return FOREVER, start, current, previous, left_ms, pulled_back
  end
  -- The time at which the weight of `before` has fallen to the room that is left: in this window, or in the next.
  local room, before, elapsed_ms = limit - current - cost, previous, 0
  if room < 0 then
    room, before, elapsed_ms = limit - cost, current, window_ms
  end
  if before > 0 then
    local still_in = div_ceil((room + 1) * window_ms, before)
    elapsed_ms = elapsed_ms + (still_in > window_ms and 0 or still_in > 1 and window_ms + 1 - still_in or window_ms)
  end
  return ms_until(start + elapsed_ms * 1000, now), start, current, previous, left_ms, pulled_back
end

local function settle(now, passes, cost, start, current, previous, left_ms, limit, window_us)
  if passes then
    current = current + cost
    if current * (window_us / 1000) > EXACT_MAX then
      current = math.floor(EXACT_MAX / (window_us / 1000))
    end
  end
  local reset_ms = 0
  if current > 0 then
    reset_ms = ms_until(start + 2 * window_us, now)
  elseif previous > 0 then
    reset_ms = ms_until(start + window_us, now)
  end
  local weighted, window_ms = previous * left_ms, window_us / 1000
  local remaining = limit - (weighted - weighted % window_ms) / window_ms - current
  return remaining > 0 and remaining or 0, reset_ms, 0, start, current, previous, window_us
end

-- Units return to the windows from which they were taken, first to the newest.
local function refund(start, current, previous, cost, pulled_back, stored_start, _, stored_window_us, _, window_us)
  if (stored_window_us or window_us) == window_us
      and (pulled_back or stored_start == start or stored_start + window_us == start) then
    if cost <= current then
      return start, current - cost, previous
    end
    return start, 0, math.max(0, previous - (cost - current))
  end
end

return judge, settle, refund

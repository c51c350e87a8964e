-- sliding_window_counter: the units of two aligned windows estimate those of the sliding one.
-- Parameters: limit, window_us. State: the time at which units were last taken, current, previous, and window_us as a fourth
-- number. If the length is edited, the units of each count where the last of them were possibly taken. (Earlier releases
-- stored the start of the window in place of the time.)

local weir = ...
local ms_until, time_for, div_ceil = weir.ms_until, weir.time_for, weir.div_ceil
local unpack = struct.unpack

-- The number for settle: milliseconds for which the previous window still counts. value: the counter as stored, if the
-- numbers are.
local function judge(now, x, y, z, cost, limit, window_us, _, _, _, value)
  local at, taken_at, pulled_back = now, now, false
  if x and x > now then
    taken_at = x
    if x - x % window_us > now then
      at, pulled_back = time_for(x - x % window_us, now - now % window_us + window_us, now)
    end
    if pulled_back then
      x, taken_at = now, now
    end
  end
  local start, current, previous, window_ms = at - at % window_us, 0, 0, window_us / 1000
  if x and x >= start then
    current = y
  elseif x and x + window_us >= start then
    previous = y
  end
  if z and z > 0 then
    local former_us = value and #value >= 48 and unpack('<d', value, 41) or 0
    -- They were taken before the window of the others.
    local newest = x - x % (former_us > 0 and former_us or window_us) - 1
    if newest >= start then
      current = current + z
    elseif newest + window_us >= start then
      previous = previous + z
    end
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
    return 0, taken_at, current, previous, left_ms, pulled_back
  end
  if cost > limit then
    return FOREVER, taken_at, current, previous, left_ms, pulled_back
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
  return ms_until(start + elapsed_ms * 1000, now), taken_at, current, previous, left_ms, pulled_back
end

local function settle(now, passes, cost, taken_at, current, previous, left_ms, limit, window_us)
  if passes then
    current = current + cost
    if current * (window_us / 1000) > EXACT_MAX then
      current = math.floor(EXACT_MAX / (window_us / 1000))
    end
  end
  local start, reset_ms = taken_at - taken_at % window_us, 0
  if current > 0 then
    reset_ms = ms_until(start + 2 * window_us, now)
  elseif previous > 0 then
    reset_ms = ms_until(start + window_us, now)
  end
  local weighted, window_ms = previous * left_ms, window_us / 1000
  local remaining = limit - (weighted - weighted % window_ms) / window_ms - current
  return remaining > 0 and remaining or 0, reset_ms, 0, taken_at, current, previous, window_us
end

-- Units return to the windows from which they were taken; first to the newest, if no charge is named.
local function refund(taken_at, current, previous, _, cost, pulled_back, stored_at, _, stored_window_us, charged_us, _, _, _,
  window_us)
  local start, newest = taken_at - taken_at % window_us, pulled_back and taken_at or stored_at
  if (stored_window_us or window_us) ~= window_us or newest + window_us < start then
    return nil
  end
  local of_current, of_previous = math.min(cost, current), 0
  if charged_us == 0 then
    of_previous = math.min(cost - of_current, previous)
  elseif charged_us > newest or charged_us + window_us < start then
    of_current = 0
  elseif charged_us < start then
    of_current, of_previous = 0, math.min(cost, previous)
  end
  if of_current + of_previous > 0 then
    return math.max(newest, start), current - of_current, previous - of_previous
  end
end

return { judge = judge, settle = settle, refund = refund }

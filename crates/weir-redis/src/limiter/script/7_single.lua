
-- Checks that take from one bucket or one window, which is most of them: the same steps as for any
-- other check, without tables. Measured: 2.5 µs a check instead of 4.1.

-- Each gives allowed, remaining, reset_ms, retry_ms, delay_ms.

local function single_bucket(key, now, grace_ms, cost, leaky, capacity, per_us, scale)
  local at, level, ahead, kept = now, 0, 0, false
  local state = call('GET', key)
  if state then
    local expires, stamp, stored, stored_scale = unpack('<dddd', state)
    kept = expires
    if stamp <= now + SLACK_US then
      if stored_scale ~= scale then
        stored = min(div_ceil(stored, stored_scale) * scale, floor(EXACT_MAX / 2))
      end
      if stamp > now then
        at, ahead, level = stamp, stamp - now, stored
      else
        level = max(0, stored - (now - stamp) * per_us)
      end
    end
  end
  local room, per_ms, carried = capacity * scale - level, 1000 * per_us, ahead * per_us
  if cost * scale > room then
    local over = cost * scale - room
    return 0, floor(max(0, room) / scale), level > 0 and div_ceil(level + carried, per_ms) or 0,
      cost > capacity and FOREVER or div_ceil(over + carried, per_ms), 0
  end
  local delay_ms = leaky and level > 0 and div_ceil(level + carried, per_ms) or 0
  level, room = level + cost * scale, room - cost * scale
  local reset_ms = div_ceil(level + carried, per_ms)
  local expires, keeps = expiry(kept, reset_ms, grace_ms)
  put(key, pack('<dddd', expires, at, level, scale), expires, keeps)
  return 1, floor(room / scale), reset_ms, 0, delay_ms
end

local function single_window(key, now, grace_ms, cost, limit, window_us)
  local at, begun, taken, kept = now, 0, 0, false
  local state = call('GET', key)
  if state then
    local expires, stamp, stored = unpack('<ddd', state)
    kept = expires
    if stamp <= now + SLACK_US then
      at, begun, taken = max(stamp, now), stamp, stored
    end
  end
  local start = at - at % window_us
  if begun < start then
    taken = 0
  end
  local reset_ms = ms_until(start + window_us, now)
  if taken + cost > limit then
    return 0, max(0, limit - taken), taken > 0 and reset_ms or 0, cost > limit and FOREVER or reset_ms, 0
  end
  taken = taken + cost
  local expires, keeps = expiry(kept, reset_ms, grace_ms)
  put(key, pack('<ddd', expires, start, taken), expires, keeps)
  return 1, limit - taken, reset_ms, 0, 0
end

-- Decides a check of one rule with one limit, and tells whether it is one that it knows.
local function single(keys, numbers, at_key, at_number, now, grace_ms, cost)
  local _, block_ms, limits, kind, a, b, c, after = unpack('<ddddddd', numbers, at_number)
  if limits ~= 1 or block_ms ~= 0 then
    return nil
  elseif kind == 1 then
    return pack('<ddddd', single_window(keys[at_key], now, grace_ms, cost, a, b)), after
  elseif kind == 4 or kind == 5 then
    return pack('<ddddd', single_bucket(keys[at_key], now, grace_ms, cost, kind == 5, a, b, c)), after
  end
  return nil
end


-- Checks of a single limit that is a bucket or a window, which is most of them: they come first, so that a
-- call of nothing else need not make the functions of all others.

local AS_RULE, AS_LIMIT = '<ddddc12dddd', '<c12dddd'
local PLAIN = { true, false, false, true, true, false, true }

-- Judged: wait (0: passes), time, work.
local function judge_bucket(stamp, stored, stored_scale, cost, capacity, per_us, scale)
  local at, level, ahead = now, 0, 0
  if stamp and stamp <= now + SLACK_US then
    if stored_scale ~= scale then
      stored = min(div_ceil(stored, stored_scale) * scale, floor(EXACT_MAX / 2))
    end
    if stamp > now then
      at, ahead, level = stamp, stamp - now, stored
    else
      level = max(0, stored - (now - stamp) * per_us)
    end
  end
  local over = level - (capacity - cost) * scale
  if over <= 0 then
    return 0, at, level
  end
  return cost > capacity and FOREVER or div_ceil(over + ahead * per_us, 1000 * per_us), at, level
end

-- Charged: remaining, reset_ms, delay_ms, work.
local function charge_bucket(cost, leaky, capacity, per_us, scale, at, level)
  local carried, per_ms, delay_ms = (at - now) * per_us, 1000 * per_us, 0
  if leaky and level > 0 then
    delay_ms = div_ceil(level + carried, per_ms)
  end
  level = level + cost * scale
  return floor((capacity * scale - level) / scale), div_ceil(level + carried, per_ms), delay_ms, level
end

-- Left as it is: remaining, reset_ms.
local function show_bucket(capacity, per_us, scale, at, level)
  return floor(max(0, capacity * scale - level) / scale),
    level > 0 and div_ceil(level + (at - now) * per_us, 1000 * per_us) or 0
end

-- Judged: wait, start of the window, units taken, end of the window.
local function judge_window(stamp, stored, cost, limit, kind, b, c, d, e)
  local at, begun, taken = now, 0, 0
  if stamp and stamp <= now + SLACK_US then
    at, begun, taken = max(stamp, now), stamp, stored
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
  if begun < start then
    taken = 0
  end
  if taken + cost <= limit then
    return 0, start, taken, stop
  end
  return cost > limit and FOREVER or ms_until(stop, now), start, taken, stop
end

-- Decides a consume of one rule if that has one such limit, and then gives the position after it.
local function single_check(from, cost)
  local _, block_ms, _, limit_count, name, kind, a, b, c, after = unpack(AS_RULE, numbers, from)
  if limit_count > 1 or block_ms ~= 0 or not PLAIN[kind] then
    return nil
  end
  local key = keys[next_key]
  next_key = next_key + 1
  local kept_ms, x, y, z = read_counter(call('HGET', key, name))
  local wait, remaining, reset_ms, delay_ms = 0, 0, 0, 0
  if kind == 4 or kind == 5 then
    wait, x, y = judge_bucket(x, y, z, cost, a, b, c)
    z = c
    if wait == 0 then
      remaining, reset_ms, delay_ms, y = charge_bucket(cost, kind == 5, a, b, c, x, y)
    else
      remaining, reset_ms = show_bucket(a, b, c, x, y)
    end
  else
    local d, e, stop
    if kind == 7 then
      d, e, after = unpack('<dd', numbers, after)
    end
    wait, x, y, stop = judge_window(x, y, cost, a, kind, b, c, d, e)
    z = 0
    if wait == 0 then
      y = y + cost
    end
    remaining, reset_ms = max(0, a - y), y > 0 and ms_until(stop, now) or 0
  end
  if wait == 0 then
    write_counter(key, name, kept_ms, reset_ms, x, y, z)
  end
  parts[#parts + 1] = pack('<ddddd', wait == 0 and 1 or 0, remaining, reset_ms, wait, delay_ms)
  return after
end


-- Checks that take from buckets and windows alone, which is most of them: the same steps as for any
-- other check, without a table for each limit, and with all counters read by one command. They come
-- first, so that a call of nothing else need not make the functions of all the others.

local PLAIN = { true, false, false, true, true, false, true }
-- More limits than these go the other way: a command takes only so many arguments from a list.
local PLAIN_MAX = 256

-- Judged: wait (0: passes), time, work, expiry of the counter.
local function judge_bucket(state, cost, capacity, per_us, scale)
  local at, level, ahead, kept = now, 0, 0, false
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
  local over = level - (capacity - cost) * scale
  if over <= 0 then
    return 0, at, level, kept
  end
  return cost > capacity and FOREVER or div_ceil(over + ahead * per_us, 1000 * per_us), at, level, kept
end

-- Takes, if it may. Gives remaining, reset_ms, delay_ms.
local function settle_bucket(takes, key, cost, leaky, capacity, per_us, scale, at, level, kept)
  local carried, per_ms, delay_ms = (at - now) * per_us, 1000 * per_us, 0
  if not takes then
    return floor(max(0, capacity * scale - level) / scale), level > 0 and div_ceil(level + carried, per_ms) or 0, 0
  end
  if leaky and level > 0 then
    delay_ms = div_ceil(level + carried, per_ms)
  end
  level = level + cost * scale
  local reset_ms = div_ceil(level + carried, per_ms)
  local expires, keeps = expiry(kept, reset_ms, grace_ms)
  put(key, pack('<dddd', expires, at, level, scale), expires, keeps)
  return floor((capacity * scale - level) / scale), reset_ms, delay_ms
end

-- Judged: wait, start of the window, units taken, expiry of the counter, end of the window.
local function judge_window(state, cost, limit, kind, b, c, d, e)
  local at, begun, taken, kept = now, 0, 0, false
  if state then
    local expires, stamp, stored = unpack('<ddd', state)
    kept = expires
    if stamp <= now + SLACK_US then
      at, begun, taken = max(stamp, now), stamp, stored
    end
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
    return 0, start, taken, kept, stop
  end
  return cost > limit and FOREVER or ms_until(stop, now), start, taken, kept, stop
end

-- Takes, if it may. Gives remaining, reset_ms, delay_ms.
local function settle_window(takes, key, cost, limit, start, taken, kept, stop)
  if not takes then
    return max(0, limit - taken), taken > 0 and ms_until(stop, now) or 0, 0
  end
  local reset_ms = ms_until(stop, now)
  local expires, keeps = expiry(kept, reset_ms, grace_ms)
  put(key, pack('<ddd', expires, start, taken + cost), expires, keeps)
  return limit - taken - cost, reset_ms, 0
end

-- A check of one limit.
local function decide_single(key, cost, kind, a, b, c, d, e)
  local wait, at, units, kept, stop, remaining, reset_ms, delay_ms
  if kind == 4 or kind == 5 then
    wait, at, units, kept = judge_bucket(call('GET', key), cost, a, b, c)
    remaining, reset_ms, delay_ms =
      settle_bucket(wait == 0, key, cost, kind == 5, a, b, c, at, units, kept)
  else
    wait, at, units, kept, stop = judge_window(call('GET', key), cost, a, kind, b, c, d, e)
    remaining, reset_ms, delay_ms =
      settle_window(wait == 0, key, cost, a, at, units, kept, stop)
  end
  return pack('<ddddd', wait == 0 and 1 or 0, remaining, reset_ms, wait, delay_ms)
end

-- By limit, used again by one check after another; made by the first that needs them.
local kinds, as, bs, cs, ds, es, owners, waits, kepts, stamps, units, stops
-- Whether rules pass: 0 for all enforced ones together, else by the number of the rule.
local passes

local function decide_several(count, cost)
  local states, said = call('MGET', upto(keys, next_key, next_key + count - 1)), #parts
  for i = 1, count do
    local kind, wait = kinds[i]
    if kind == 4 or kind == 5 then
      wait, stamps[i], units[i], kepts[i] = judge_bucket(states[i], cost, as[i], bs[i], cs[i])
    else
      wait, stamps[i], units[i], kepts[i], stops[i] =
        judge_window(states[i], cost, as[i], kind, bs[i], cs[i], ds[i], es[i])
    end
    waits[i] = wait
    if wait ~= 0 then
      passes[owners[i]] = false
    end
  end
  for i = 1, count do
    local kind, wait, key, takes = kinds[i], waits[i], keys[next_key + i - 1], passes[owners[i]]
    local remaining, reset_ms, delay_ms
    if kind == 4 or kind == 5 then
      remaining, reset_ms, delay_ms = settle_bucket(takes, key, cost, kind == 5,
        as[i], bs[i], cs[i], stamps[i], units[i], kepts[i])
    else
      remaining, reset_ms, delay_ms = settle_window(takes, key, cost,
        as[i], stamps[i], units[i], kepts[i], stops[i])
    end
    parts[said + i] = pack('<ddddd', wait == 0 and 1 or 0, remaining, reset_ms, wait, delay_ms)
  end
end

-- Decides a consume of so many rules if it is plain, and then gives the position after it.
local function plain_check(from, rules, cost)
  local group, block_ms, limits, kind, a, b, c, after = unpack('<ddddddd', numbers, from)
  if rules == 1 and limits == 1 and block_ms == 0 and PLAIN[kind] then
    local d, e
    if kind == 7 then
      d, e, after = unpack('<dd', numbers, after)
    end
    parts[#parts + 1] = decide_single(keys[next_key], cost, kind, a, b, c, d, e)
    next_key = next_key + 1
    return after
  end
  if not kinds then
    kinds, as, bs, cs, ds, es, owners = {}, {}, {}, {}, {}, {}, {}
    waits, kepts, stamps, units, stops, passes = {}, {}, {}, {}, {}, {}
  end
  local count, rule = 0, 1
  while true do
    if block_ms ~= 0 or count + limits > PLAIN_MAX then
      return nil
    end
    local owner = group == 0 and 0 or rule
    passes[owner] = true
    for l = 1, limits do
      if l > 1 then
        kind, a, b, c, after = unpack('<dddd', numbers, after)
      end
      if not PLAIN[kind] then
        return nil
      end
      count = count + 1
      kinds[count], as[count], bs[count], cs[count], owners[count] = kind, a, b, c, owner
      if kind == 7 then
        ds[count], es[count], after = unpack('<dd', numbers, after)
      end
    end
    if rule == rules then
      decide_several(count, cost)
      next_key = next_key + count
      return after
    end
    rule = rule + 1
    group, block_ms, limits, kind, a, b, c, after = unpack('<ddddddd', numbers, after)
  end
end

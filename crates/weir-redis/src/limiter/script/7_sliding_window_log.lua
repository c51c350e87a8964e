
-- sliding_window_log: a list of entries, oldest first.
-- Entry: at_us, units logged up to and with it (modulo LOGGED), its cost. The running sum finds the
-- units between any two entries without walking over them.

local LOGGED = 4503599627370496

local function log_entry(limit, index)
  return unpack('<ddd', call('LINDEX', limit.key, index))
end

-- Units from the oldest live entry up to and with the one at index.
local function log_sum(limit, index)
  local _, logged = log_entry(limit, index)
  return (logged - limit.base) % LOGGED
end

-- The first index from `low` on that satisfies `holds`, or limit.count: `holds` is monotone.
local function log_search(limit, low, holds)
  local step, high = 1, low
  while high < limit.count and not holds(high) do
    low, high, step = high + 1, high + step, step * 2
  end
  high = min(high, limit.count)
  while low < high do
    local middle = floor((low + high) / 2)
    if holds(middle) then
      high = middle
    else
      low = middle + 1
    end
  end
  return high
end

local function log_read(limit, now)
  limit.first, limit.count, limit.total, limit.base, limit.logged = 0, 0, 0, 0, 0
  limit.at, limit.newest, limit.pushed, limit.dead = now, 0, 0, false
  local newest = call('LINDEX', limit.key, -1)
  if not newest then
    return
  end
  local newest_at, logged = unpack('<ddd', newest)
  local at = believed(newest_at, now)
  if not at or newest_at + limit.b <= at then
    limit.dead = true
    return
  end
  limit.at, limit.newest, limit.logged = at, newest_at, logged
  limit.count = call('LLEN', limit.key)
  limit.first = log_search(limit, 0, function(index)
    return log_entry(limit, index) + limit.b > at
  end)
  local _, first_logged, first_cost = log_entry(limit, limit.first)
  limit.base = first_logged - first_cost
  limit.total = (logged - limit.base) % LOGGED
end

local function log_wait(limit, cost, now)
  if cost > limit.a then
    return FOREVER
  end
  local excess = limit.total + limit.pushed + cost - limit.a
  if excess <= 0 then
    return 0
  end
  local leaves = limit.at
  if excess <= limit.total then
    leaves = log_entry(limit, log_search(limit, limit.first, function(index)
      return log_sum(limit, index) >= excess
    end))
  end
  return ms_until(leaves + limit.b, now)
end

local function log_charge(limit, cost)
  limit.pushed, limit.newest = cost, limit.at
end

-- Gives back from the newest entries on, the last of them in part. Writes by itself.
local function log_refund(limit, cost, now, grace_ms)
  if limit.c == 1 then
    return
  end
  local kept = max(0, limit.total - cost)
  if kept == 0 then
    call('DEL', limit.key)
    limit.total, limit.newest, limit.count = 0, 0, 0
    return
  end
  local last = log_search(limit, limit.first, function(index)
    return log_sum(limit, index) >= kept
  end)
  local at, logged, last_cost = log_entry(limit, last)
  local over = (logged - limit.base) % LOGGED - kept
  call('LSET', limit.key, last, pack('<ddd', at, (logged - over) % LOGGED, last_cost - over))
  call('LTRIM', limit.key, limit.first, last)
  limit.total, limit.newest, limit.logged = kept, at, (logged - over) % LOGGED
  limit.count, limit.first = last - limit.first + 1, 0
  call('PEXPIRE', limit.key, ms_until(at + limit.b, now) + grace_ms)
end

local function log_level(limit, now)
  local total = limit.total + limit.pushed
  local reset = total > 0 and ms_until(limit.newest + limit.b, now) or 0
  return max(0, limit.a - total), reset
end

-- Appends the entry that was charged. Entries that are dead, or with the whole limit newer than
-- them, decide nothing any more and are dropped.
local function log_write(limit, reset_ms, grace_ms)
  local first = limit.first
  local spare = limit.total + limit.pushed - limit.a
  if limit.dead then
    call('DEL', limit.key)
  elseif spare > 0 then
    first = log_search(limit, first, function(index)
      return log_sum(limit, index) > spare
    end)
  end
  local entry = pack('<ddd', limit.at, (limit.logged + limit.pushed) % LOGGED, limit.pushed)
  call('RPUSH', limit.key, entry)
  if first > 0 then
    call('LTRIM', limit.key, first, -1)
  end
  call('PEXPIRE', limit.key, reset_ms + grace_ms)
end

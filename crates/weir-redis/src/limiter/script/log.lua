-- Reads logs: a list of entries in a key of its own, oldest first.
-- Entry: at_us, units logged up to and with it (modulo LOGGED), its cost, and the expiry of the key (ms, holds in the
-- newest entry). The running sum finds the units between any two entries without walking over them.
-- Charges of the same microsecond share an entry. An expiry with half a millisecond marks a log at which units are held.
--
-- After a step of the clock that is larger than SLACK_US, entries newer than now count as one entry of now.

local weir = ...
local time_for = weir.time_for
local call, try, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local floor, max, min = math.floor, math.max, math.min

-- The entry at an index. A damaged one is older than any window.
local function entry_at(log, index)
  if index == log.merged_at then
    return log.now, log.logged, log.merged
  end
  local entry = call('LINDEX', log.key, index)
  if not entry or #entry < 24 then
    return 0, 0, 0, 0
  end
  local at, logged, cost = unpack('<ddd', entry)
  if not (at >= 0 and cost >= 0 and at + cost <= EXACT_MAX and logged >= 0 and logged < LOGGED) then
    return 0, 0, 0, 0
  end
  return at, logged, cost, #entry >= 32 and unpack('<d', entry, 25) or 0
end

local function count_of(log)
  local count = log.count or call('LLEN', log.key)
  log.count = count
  return count
end

-- Units from the oldest live entry up to and with the one at index.
local function sum_until(log, index)
  local _, logged = entry_at(log, index)
  return (logged - log.base) % LOGGED
end

-- The first index from `low` on that satisfies `holds`, or the last index: `holds` is monotone.
local function search(log, low, holds)
  local last = count_of(log) - 1
  local step, high = 1, low
  while high < last and not holds(high) do
    low, high, step = high + 1, high + step, step * 2
  end
  high = min(high, last)
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

-- Reads a log, or returns nil if its key holds another type.
local function read(key, now, now_ms, grace_ms, limit, window_us, count_denied)
  local newest = try('LINDEX', key, -1)
  if type(newest) == 'table' then
    return nil
  end
  local log = {
    key = key, now = now, now_ms = now_ms, grace_ms = grace_ms,
    limit = limit, window_us = window_us, count_denied = count_denied,
    first = 0, count = false, total = 0, base = 0, logged = 0, at = now, newest = 0, newest_cost = 0,
    expiry_ms = 0, pushed = 0, dead = false, merged_at = false, merged = 0, marked = false,
  }
  if not newest then
    return log
  end
  local at, logged, cost, expiry_ms = entry_at(log, -1)
  log.marked = expiry_ms % 1 > 0
  if at > now and time_for(at, 0, now) ~= at then
    -- The clock was set back. The entries from merged_at on are newer than now.
    local from = search(log, 0, function(index)
      return entry_at(log, index) > now
    end)
    local _, first_logged, first_cost = entry_at(log, from)
    cost = (logged - first_logged + first_cost) % LOGGED
    log.logged, log.merged_at, log.merged, log.count = logged, from, cost, from + 1
    at = now
  end
  if at + window_us <= now then
    log.dead = true
    return log
  end
  log.at, log.newest, log.logged, log.newest_cost, log.expiry_ms = max(at, now), at, logged, cost, expiry_ms
  local oldest, first_logged, first_cost = entry_at(log, 0)
  if oldest + window_us <= log.at then
    log.first = search(log, 1, function(index)
      return entry_at(log, index) + window_us > log.at
    end)
    first_logged, first_cost = select(2, entry_at(log, log.first))
  end
  log.base = first_logged - first_cost
  log.total = (logged - log.base) % LOGGED
  return log
end

-- Writes the one entry that stands for all that are newer than now.
local function merge(log)
  if not log.merged_at then
    return
  end
  if log.merged_at > 0 then
    call('LTRIM', log.key, 0, log.merged_at - 1)
  else
    call('DEL', log.key)
  end
  call('RPUSH', log.key, pack('<dddd', log.now, log.logged, log.merged, 0))
  log.merged_at, log.expiry_ms = false, 0
end

weir.log = { entry_at = entry_at, count_of = count_of, sum_until = sum_until, search = search, read = read, merge = merge }

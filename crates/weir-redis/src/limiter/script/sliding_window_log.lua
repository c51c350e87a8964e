-- sliding_window_log: a list of entries in a key of its own, oldest first.
-- Parameters: limit, window_us, count_denied (0, 1).
-- Entry: at_us, units logged up to and with it (modulo LOGGED), its cost, and the expiry of the key (ms, holds in the
-- newest entry). The running sum finds the units between any two entries without walking over them.
-- Charges of the same microsecond share an entry. An expiry with half a millisecond marks a log at which units are held.
--
-- After a step of the clock that is larger than SLACK_US, entries newer than now count as one entry of now.

local ms_until, time_for, _, shared = ...
local call, try, pack, unpack, upto, expiry = redis.call, redis.pcall, struct.pack, struct.unpack, unpack, shared.expiry
local floor, max, min = math.floor, math.max, math.min
local AS_ENTRY = '<dddd'

-- The entry at an index. A damaged one is older than any window.
local function log_entry(log, index)
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

local function log_count(log)
  local count = log.count or call('LLEN', log.key)
  log.count = count
  return count
end

-- Units from the oldest live entry up to and with the one at index.
local function log_sum(log, index)
  local _, logged = log_entry(log, index)
  return (logged - log.base) % LOGGED
end

-- The first index from `low` on that satisfies `holds`, or the last index: `holds` is monotone.
local function log_search(log, low, holds)
  local last = log_count(log) - 1
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
local function read(key, now, now_ms, grace_ms, a, b, c)
  local newest = try('LINDEX', key, -1)
  if type(newest) == 'table' then
    return nil
  end
  local log = {
    key = key, now = now, now_ms = now_ms, grace_ms = grace_ms, a = a, b = b, c = c,
    first = 0, count = false, total = 0, base = 0, logged = 0, at = now, newest = 0, newest_cost = 0,
    expiry_ms = 0, pushed = 0, dead = false, merged_at = false, merged = 0, marked = false,
  }
  if not newest then
    return log
  end
  local at, logged, cost, expiry_ms = log_entry(log, -1)
  log.marked = expiry_ms % 1 > 0
  if at > now and time_for(at, 0, now) ~= at then
    -- The clock was set back. The entries from merged_at on are newer than now.
    local from = log_search(log, 0, function(index)
      return log_entry(log, index) > now
    end)
    local _, first_logged, first_cost = log_entry(log, from)
    cost = (logged - first_logged + first_cost) % LOGGED
    log.logged, log.merged_at, log.merged, log.count = logged, from, cost, from + 1
    at = now
  end
  if at + b <= now then
    log.dead = true
    return log
  end
  log.at, log.newest, log.logged, log.newest_cost, log.expiry_ms = max(at, now), at, logged, cost, expiry_ms
  local oldest, first_logged, first_cost = log_entry(log, 0)
  if oldest + b <= log.at then
    log.first = log_search(log, 1, function(index)
      return log_entry(log, index) + b > log.at
    end)
    first_logged, first_cost = select(2, log_entry(log, log.first))
  end
  log.base = first_logged - first_cost
  log.total = (logged - log.base) % LOGGED
  return log
end

local function wait(log, cost)
  if cost > log.a then
    return FOREVER
  end
  local excess = log.total + log.pushed + cost - log.a
  if excess <= 0 then
    return 0
  end
  local leaves = log.at
  if excess <= log.total then
    leaves = log_entry(log, log_search(log, log.first, function(index)
      return log_sum(log, index) >= excess
    end))
  end
  return ms_until(leaves + log.b, log.now)
end

-- Remaining, reset_ms.
local function log_level(log)
  local total, newest = log.total + log.pushed, log.pushed > 0 and log.at or log.newest
  return max(0, log.a - total), total > 0 and ms_until(newest + log.b, log.now) or 0
end

-- Writes the one entry that stands for all that are newer than now.
local function log_merge(log)
  if not log.merged_at then
    return
  end
  if log.merged_at > 0 then
    call('LTRIM', log.key, 0, log.merged_at - 1)
  else
    call('DEL', log.key)
  end
  call('RPUSH', log.key, pack(AS_ENTRY, log.now, log.logged, log.merged, 0))
  log.merged_at, log.expiry_ms = false, 0
end

-- Writes the charge that is pushed, if any, and the changes by a step of the clock. Entries that are dead, or with the
-- whole limit newer than them, decide nothing any more and are dropped.
local function log_write(log, reset_ms)
  local first, spare, joins = log.first, log.total + log.pushed - log.a, log.at == log.newest
  log_merge(log)
  if log.dead then
    call('DEL', log.key)
  elseif spare >= log.total and not joins and log.total > 0 then
    first = log_count(log)
  elseif spare > 0 then
    first = log_search(log, first, function(index)
      return log_sum(log, index) > spare
    end)
  end
  local expires = expiry(log.expiry_ms > 0 and log.expiry_ms or nil, reset_ms, log.now_ms, log.grace_ms)
  local cost = log.pushed
  if joins then
    cost = cost + log.newest_cost
  end
  local entry = pack(AS_ENTRY, log.at, (log.logged + log.pushed) % LOGGED, cost, expires)
  if joins then
    call('LSET', log.key, -1, entry)
  elseif log.pushed > 0 then
    call('RPUSH', log.key, entry)
  end
  if first > 0 then
    call('LTRIM', log.key, first, -1)
  end
  if expires ~= log.expiry_ms then
    call('PEXPIREAT', log.key, expires)
  end
end

-- Returns units from the newest entries on, from the last of them in part.
local function log_refund(log, cost)
  local left = max(0, log.total - cost)
  if left == 0 then
    call('DEL', log.key)
    log.total, log.newest, log.merged_at = 0, 0, false
    return
  end
  log_merge(log)
  local last = log_search(log, log.first, function(index)
    return log_sum(log, index) >= left
  end)
  local at, logged, last_cost = log_entry(log, last)
  local over = (logged - log.base) % LOGGED - left
  logged = (logged - over) % LOGGED
  local expires = log.now_ms + ms_until(at + log.b, log.now) + log.grace_ms
  call('LSET', log.key, last, pack(AS_ENTRY, at, logged, last_cost - over, expires))
  call('LTRIM', log.key, log.first, last)
  log.total, log.newest, log.logged, log.count = left, at, logged, last - log.first + 1
  log.first = 0
  call('PEXPIREAT', log.key, expires)
end

-- Returns units of the entry of a charge, and writes all newer entries anew, unless there are too many. Returns whether it did.
local function log_refund_entry(log, cost, charged_us)
  if log.total == 0 then
    return false
  end
  local index = log_search(log, log.first, function(index)
    return log_entry(log, index) >= charged_us
  end)
  if log_entry(log, index) ~= charged_us or log_count(log) - index > REFUNDED_ENTRIES_MAX then
    return false
  end
  log_merge(log)
  local rest, entries, newest = call('LRANGE', log.key, index, -1), {}, 0
  local returned = math.min(cost, (select(3, log_entry(log, index))))
  log.total = log.total - returned
  if log.total == 0 then
    call('DEL', log.key)
    log.newest = 0
    return true
  end
  for i = 1, #rest do
    local at, logged, entry_cost = unpack('<ddd', rest[i])
    if i > 1 or entry_cost > returned then
      entries[#entries + 1] = pack(AS_ENTRY, at, (logged - returned) % LOGGED, i > 1 and entry_cost or entry_cost - returned, 0)
      newest = at
    end
  end
  if index > log.first then
    newest = newest > 0 and newest or log_entry(log, index - 1)
    call('LTRIM', log.key, log.first, index - 1)
  else
    call('DEL', log.key)
  end
  if #entries > 0 then
    call('RPUSH', log.key, upto(entries, 1, #entries))
  end
  local expires = log.now_ms + ms_until(newest + log.b, log.now) + log.grace_ms
  local at, logged, entry_cost = unpack('<ddd', call('LINDEX', log.key, -1))
  call('LSET', log.key, -1, pack(AS_ENTRY, at, logged, entry_cost, expires))
  call('PEXPIREAT', log.key, expires)
  log.newest, log.logged, log.first, log.count = newest, logged, 0, false
  return true
end

-- Charges, refunds or denies. A log that counts denials (c) takes those that could ever have passed, and no refunds.
-- An entry of more units than any limit denies no longer.
local function settle(log, cost, needed, takes, denied, refunds, records, writes, wait_beside, _, charged_us)
  local returned = false
  if takes or records or (denied and log.c == 1 and cost <= log.a) then
    log.pushed = min(cost, LOG_LIMIT_MAX)
  elseif refunds and log.c == 0 and charged_us > 0 then
    returned = log_refund_entry(log, cost, charged_us)
  elseif refunds and log.c == 0 then
    returned = log.total > 0
    log_refund(log, cost)
  end
  local wait_ms, remaining, reset_ms = takes and 0 or wait(log, needed), log_level(log)
  if wait_ms ~= 0 and wait_beside then
    -- Before the entries move.
    wait_ms = wait_beside()
  end
  if writes and (log.pushed > 0 or log.merged_at) then
    log_write(log, reset_ms)
  end
  return wait_ms, remaining, reset_ms, returned
end

return read, wait, settle

-- Refunds of a log. The entries are described in log.lua.

local weir = ...
local ms_until = weir.ms_until
local entry_at, count_of, sum_until = weir.log.entry_at, weir.log.count_of, weir.log.sum_until
local search, merge = weir.log.search, weir.log.merge
local call, pack, unpack, upto = redis.call, struct.pack, struct.unpack, unpack
local max, min = math.max, math.min

-- Returns units from the newest entries on, from the last of them in part.
local function refund_newest(log, cost)
  local left = max(0, log.total - cost)
  if left == 0 then
    call('DEL', log.key)
    log.total, log.newest, log.merged_at = 0, 0, false
    return
  end
  merge(log)
  local last = search(log, log.first, function(index)
    return sum_until(log, index) >= left
  end)
  local at, logged, last_cost = entry_at(log, last)
  local over = (logged - log.base) % LOGGED - left
  logged = (logged - over) % LOGGED
  local expires = log.now_ms + ms_until(at + log.window_us, log.now) + log.grace_ms
  call('LSET', log.key, last, pack('<dddd', at, logged, last_cost - over, expires))
  call('LTRIM', log.key, log.first, last)
  log.total, log.newest, log.logged, log.count = left, at, logged, last - log.first + 1
  log.first = 0
  call('PEXPIREAT', log.key, expires)
end

-- Returns units of the entry of a charge, and writes all newer entries anew, unless there are too many. Returns whether it did.
local function refund_charge(log, cost, charged_us)
  if log.total == 0 then
    return false
  end
  local index = search(log, log.first, function(index)
    return entry_at(log, index) >= charged_us
  end)
  if entry_at(log, index) ~= charged_us or count_of(log) - index > REFUNDED_ENTRIES_MAX then
    return false
  end
  merge(log)
  local rest, entries, newest = call('LRANGE', log.key, index, -1), {}, 0
  local returned = min(cost, (select(3, entry_at(log, index))))
  log.total = log.total - returned
  if log.total == 0 then
    call('DEL', log.key)
    log.newest = 0
    return true
  end
  for i = 1, #rest do
    local at, logged, entry_cost = unpack('<ddd', rest[i])
    if i > 1 or entry_cost > returned then
      entries[#entries + 1] = pack('<dddd', at, (logged - returned) % LOGGED, i > 1 and entry_cost or entry_cost - returned, 0)
      newest = at
    end
  end
  if index > log.first then
    newest = newest > 0 and newest or entry_at(log, index - 1)
    call('LTRIM', log.key, log.first, index - 1)
  else
    call('DEL', log.key)
  end
  if #entries > 0 then
    call('RPUSH', log.key, upto(entries, 1, #entries))
  end
  local expires = log.now_ms + ms_until(newest + log.window_us, log.now) + log.grace_ms
  local at, logged, entry_cost = unpack('<ddd', call('LINDEX', log.key, -1))
  call('LSET', log.key, -1, pack('<dddd', at, logged, entry_cost, expires))
  call('PEXPIREAT', log.key, expires)
  log.newest, log.logged, log.first, log.count = newest, logged, 0, false
  return true
end

weir.log.refund_newest, weir.log.refund_charge = refund_newest, refund_charge

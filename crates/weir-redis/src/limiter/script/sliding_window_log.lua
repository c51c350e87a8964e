-- sliding_window_log: units in any window, by a log of the charges (log.lua).
-- Parameters: limit, window_us, count_denied (0, 1). A check that leaves units of the limit free uses the kind KEEPING_LOG:
-- its limit is what it can use, and its fourth parameter is the whole limit.

local weir = ...
local ms_until, expiry, check = weir.ms_until, weir.expiry, weir.check
local entry_at, count_of, sum_until = weir.log.entry_at, weir.log.count_of, weir.log.sum_until
local search, merge = weir.log.search, weir.log.merge
local refund_newest, refund_charge = weir.log.refund_newest, weir.log.refund_charge
local call, pack = redis.call, struct.pack
local max, min = math.max, math.min

local function wait(log, cost)
  if cost > log.limit then
    return FOREVER
  end
  local excess = log.total + log.pushed + cost - log.limit
  if excess <= 0 then
    return 0
  end
  local leaves = log.at
  if excess <= log.total then
    leaves = entry_at(log, search(log, log.first, function(index)
      return sum_until(log, index) >= excess
    end))
  end
  return ms_until(leaves + log.window_us, log.now)
end

-- Remaining, reset_ms.
local function level(log)
  local total, newest = log.total + log.pushed, log.pushed > 0 and log.at or log.newest
  return max(0, log.limit - total), total > 0 and ms_until(newest + log.window_us, log.now) or 0
end

-- Writes the charge that is pushed, if any, and the changes by a step of the clock. Entries that are dead, or with the
-- whole limit newer than them, decide nothing any more and are dropped.
local function write(log, reset_ms)
  local first, spare, joins = log.first, log.total + log.pushed - (log.whole or log.limit), log.at == log.newest
  merge(log)
  if log.dead then
    call('DEL', log.key)
  elseif spare >= log.total and not joins and log.total > 0 then
    first = count_of(log)
  elseif spare > 0 then
    first = search(log, first, function(index)
      return sum_until(log, index) > spare
    end)
  end
  local expires = expiry(log.expiry_ms > 0 and log.expiry_ms or nil, reset_ms, log.now_ms, log.grace_ms)
  local cost = log.pushed
  if joins then
    cost = cost + log.newest_cost
  end
  local entry = pack('<dddd', log.at, (log.logged + log.pushed) % LOGGED, cost, expires)
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

-- Charges, refunds or denies. A log that counts denials takes those that could ever have passed, and no refunds.
-- An entry of more units than any limit denies no longer.
local function settle(log, rule, takes, records, limit)
  local refunds, returned = rule.refunds and log.count_denied == 0, false
  if takes or records
      or (rule.counts_denial and rule.group.denied and log.count_denied == 1 and rule.cost <= log.limit) then
    log.pushed = min(rule.cost, LOG_LIMIT_MAX)
  elseif refunds and check.charged_us > 0 then
    returned = refund_charge(log, rule.cost, check.charged_us)
  elseif refunds then
    returned = log.total > 0
    refund_newest(log, rule.cost)
  end
  local wait_ms, remaining, reset_ms = takes and 0 or wait(log, rule.needed + (limit and limit.held or 0)), level(log)
  if wait_ms ~= 0 and limit then
    -- Before the entries move.
    wait_ms = weir.wait_beside_held_units(limit, rule)
  end
  if check.writes and (log.pushed > 0 or log.merged_at) then
    write(log, reset_ms)
  end
  return wait_ms, remaining, reset_ms, returned
end

local functions = { read = weir.log.read, wait = wait, settle = settle }
weir.algorithms[KEEPING_LOG], weir.has_own_key[KEEPING_LOG], weir.has_five_parameters[KEEPING_LOG] = functions, true, true
return functions


-- By kind: read, wait, charge, refund, level, state (a log writes itself).
local window = { window_read, window_wait, window_charge, window_refund, window_level, window_state }
local bucket = { bucket_read, bucket_wait, bucket_charge, bucket_refund, bucket_level, bucket_state }
local algorithms = {
  window,
  { log_read, log_wait, log_charge, log_refund, log_level },
  { counter_read, counter_wait, counter_charge, counter_refund, counter_level, counter_state },
  bucket,
  bucket,
  { spacing_read, spacing_wait, spacing_charge, spacing_refund, spacing_level, spacing_state },
  window,
}
local READ, WAIT, CHARGE, REFUND, LEVEL, STATE = 1, 2, 3, 4, 5, 6
local CONSUME, PEEK, REFUND_ACT = 1, 2, 3

local numbers = ARGV[1]
local now, grace_ms, checks, position = unpack('<ddd', numbers)
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
local next_key, next_arg = 1, 2

local function key()
  next_key = next_key + 1
  return KEYS[next_key - 1]
end

-- Reads the parameters of one check; its keys and counters are not touched.
local function check_read()
  local check = { rules = {} }
  local rules
  check.act, check.cost, rules, check.idempotent, position = unpack('<dddd', numbers, position)
  check.record = check.idempotent == 1 and key()
  for r = 1, rules do
    local rule = {}
    local limits
    rule.group, rule.block_ms, limits, position = unpack('<ddd', numbers, position)
    rule.block = rule.block_ms > 0 and key()
    for l = 1, limits do
      local limit = { key = key() }
      limit.kind, limit.a, limit.b, limit.c, position = unpack('<dddd', numbers, position)
      if limit.kind == 7 then
        limit.d, limit.e, position = unpack('<dd', numbers, position)
      end
      rule[l] = limit
    end
    check.rules[r] = rule
  end
  return check
end

-- Whether the quota periods given are those around now.
local function periods_hold(check)
  for _, rule in ipairs(check.rules) do
    for _, limit in ipairs(rule) do
      if limit.kind == 7 and not (limit.b <= now and now + SLACK_US < limit.e) then
        return false
      end
    end
  end
  return true
end

-- What is left of a rule's block. One that lasts longer than the rule says was written by another
-- clock or another setting, and does not hold.
local function blocked_ms(rule)
  if not rule.block then
    return 0
  end
  local until_us = call('GET', rule.block)
  if not until_us then
    return 0
  end
  local left = max(0, unpack('<d', until_us) - now)
  if left > rule.block_ms * 1000 + SLACK_US then
    return 0
  end
  return ms_until(left + now, now)
end

local function judge(rule, cost)
  rule.blocked_ms = blocked_ms(rule)
  for _, limit in ipairs(rule) do
    local algorithm = algorithms[limit.kind]
    algorithm[READ](limit, now)
    limit.wait = algorithm[WAIT](limit, cost, now)
    limit.passes = limit.wait == 0
    limit.delay_ms = limit.kind == 5 and bucket_ms_to_drain(limit, limit.level) or 0
    if not limit.passes then
      rule.denied_by_limit = true
    end
    if limit.wait > 0 then
      rule.waits = true
    end
  end
  rule.passes = rule.blocked_ms == 0 and not rule.denied_by_limit
end

local function charge(rule, cost)
  for _, limit in ipairs(rule) do
    algorithms[limit.kind][CHARGE](limit, cost)
    limit.changed = true
  end
end

-- After a denial only logs that count denials change, and a block may start.
local function deny(rule, cost, denied_by_limit)
  rule.block_starts = rule.block and rule.blocked_ms == 0 and rule.waits
  if not denied_by_limit then
    return
  end
  for _, limit in ipairs(rule) do
    if limit.kind == 2 and limit.c == 1 and cost <= limit.a then
      log_charge(limit, cost)
      limit.wait = log_wait(limit, cost, now)
      limit.changed = true
    end
  end
end

local function refund(rule, cost)
  for _, limit in ipairs(rule) do
    local algorithm = algorithms[limit.kind]
    algorithm[REFUND](limit, cost, now, grace_ms)
    limit.wait = algorithm[WAIT](limit, cost, now)
    limit.passes = limit.wait == 0
    limit.delay_ms = limit.kind == 5 and limit.delay_ms or 0
    limit.changed = limit.kind ~= 2 and limit.kind ~= 5
  end
end

-- Appends a limit's five numbers to the reply, and writes its counter if it changed.
local function report(reply, rule, limit, denied, writes)
  local algorithm = algorithms[limit.kind]
  local remaining, reset_ms = algorithm[LEVEL](limit, now)
  if writes and limit.changed then
    if limit.kind == 2 then
      log_write(limit, reset_ms, grace_ms)
    else
      put(limit.key, algorithm[STATE](limit), reset_ms, grace_ms)
    end
  end
  local allowed = limit.passes and rule.blocked_ms == 0
  local retry_ms = limit.wait
  if retry_ms > 0 and rule.block_starts then
    retry_ms = max(retry_ms, rule.block_ms)
  elseif retry_ms >= 0 then
    retry_ms = max(retry_ms, rule.blocked_ms)
  end
  local n = #reply
  reply[n + 1] = allowed and 1 or 0
  reply[n + 2] = remaining
  reply[n + 3] = reset_ms
  reply[n + 4] = retry_ms
  reply[n + 5] = allowed and not denied and limit.delay_ms or 0
end

local function decide(check)
  local cost, act = check.cost, check.act
  local passes, denied_by_limit = true, false
  for _, rule in ipairs(check.rules) do
    judge(rule, cost)
    if rule.group == 0 then
      passes = passes and rule.passes
      denied_by_limit = denied_by_limit or rule.denied_by_limit
    end
  end
  local takes = act == CONSUME or act == PEEK
  local writes = act == CONSUME or act == REFUND_ACT
  local reply = { 0 }
  for _, rule in ipairs(check.rules) do
    local enforced = rule.group == 0
    local rule_passes = rule.passes
    local rule_denied_by_limit = rule.denied_by_limit
    if enforced then
      rule_passes, rule_denied_by_limit = passes, denied_by_limit
    end
    if takes and rule_passes then
      charge(rule, cost)
    elseif takes then
      deny(rule, cost, rule_denied_by_limit)
    elseif act == REFUND_ACT and enforced then
      refund(rule, cost)
    end
    for _, limit in ipairs(rule) do
      report(reply, rule, limit, takes and not rule_passes, writes)
    end
    if writes and rule.block_starts then
      local until_us = pack('<d', now + rule.block_ms * 1000)
      call('SET', rule.block, until_us, 'PX', rule.block_ms + grace_ms)
    end
  end
  return reply
end

-- Decides a check, or hands back the first answer to the same request.
local function answer(check)
  if not check.record then
    return decide(check)
  end
  local fingerprint, text, record_ms = ARGV[next_arg], ARGV[next_arg + 1], ARGV[next_arg + 2]
  next_arg = next_arg + 3
  local known = call('HMGET', check.record, 'fingerprint', 'text', 'numbers')
  if known[1] and known[1] ~= fingerprint then
    return { 2 }
  elseif known[1] then
    return { 1, known[2], known[3] }
  end
  local reply = decide(check)
  local numbers_text = {}
  for n = 2, #reply do
    numbers_text[n - 1] = string.format('%.0f', reply[n])
  end
  call('HSET', check.record, 'fingerprint', fingerprint, 'text', text,
    'numbers', table.concat(numbers_text, ','))
  call('PEXPIRE', check.record, record_ms)
  return reply
end

local all = {}
for c = 1, checks do
  all[c] = check_read()
  if not periods_hold(all[c]) then
    return { now }
  end
end
local reply = { now }
for c = 1, checks do
  reply[c + 1] = answer(all[c])
end
return reply

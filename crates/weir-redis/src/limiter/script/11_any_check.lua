
-- Decides any check: judges all limits of all its rules, then charges all of them or none.

-- By kind. A leaky bucket is a bucket; a quota is a window.
local READ = { window_read, log_read, counter_read, bucket_read, bucket_read, spacing_read, window_read }
local WAIT = { window_wait, log_wait, counter_wait, bucket_wait, bucket_wait, spacing_wait, window_wait }
local CHARGE = {
  window_charge, log_charge, counter_charge, bucket_charge, bucket_charge, spacing_charge, window_charge,
}
local REFUND = {
  window_refund, log_refund, counter_refund, bucket_refund, bucket_refund, spacing_refund, window_refund,
}
local LEVEL = {
  window_level, log_level, counter_level, bucket_level, bucket_level, spacing_level, window_level,
}
-- The three numbers of a counter; logs write by themselves.
local STATE = { window_state, false, counter_state, bucket_state, bucket_state, spacing_state, window_state }
local PEEK, REFUND_ACT = 2, 3

-- The rules and limits of the check at hand; the tables serve one check after another.
local rules, limits = {}, {}
local rule_count, limit_count, first_sheet

local function next_rule()
  rule_count = rule_count + 1
  local rule = rules[rule_count]
  if not rule then
    rule = { group = 0, sheet = false, block = false, block_ms = 0, first = 0, last = 0, blocked_ms = 0,
      denied_by_limit = false, waits = false, passes = false, block_starts = false }
    rules[rule_count] = rule
  end
  return rule
end

local function next_limit()
  limit_count = limit_count + 1
  local limit = limits[limit_count]
  if not limit then
    limit = { key = false, name = false, kept_ms = false, kind = 0, a = 0, b = 0, c = 0,
      d = 0, e = 0, at = 0, level = 0, ahead = 0, wait = 0, passes = false, delay_ms = 0, changed = false }
    limits[limit_count] = limit
  end
  limit.changed, limit.delay_ms = false, 0
  return limit
end

local function read(limit)
  if limit.kind == 2 then
    limit.key = keys[next_key]
    next_key = next_key + 1
    return log_read(limit, now)
  end
  local x, y, z
  limit.kept_ms, x, y, z = read_counter(call('HGET', limit.key, limit.name))
  READ[limit.kind](limit, now, x, y, z)
end

-- What is left of a rule's block. One that lasts longer than the rule says was written by another
-- clock or another setting, and does not hold.
local function blocked_ms(rule)
  local state = call('GET', rule.block)
  if not state then
    return 0
  end
  local left = max(0, unpack('<d', state) - now)
  if left > rule.block_ms * 1000 + SLACK_US then
    return 0
  end
  return ms_until(left + now, now)
end

-- Reads the next rule and judges its limits by their counters.
local function judge(cost)
  local rule = next_rule()
  local group, block_ms, s, count, name, kind, a, b, c
  group, block_ms, s, count, name, kind, a, b, c, position = unpack(AS_RULE, numbers, position)
  rule.group, rule.sheet, rule.block_ms = group, keys[first_sheet + s - 1], block_ms
  rule.block, rule.blocked_ms = false, 0
  if block_ms > 0 then
    rule.block = keys[next_key]
    next_key = next_key + 1
    rule.blocked_ms = blocked_ms(rule)
  end
  local denied, waits = false, false
  rule.first = limit_count + 1
  for l = 1, count do
    if l > 1 then
      name, kind, a, b, c, position = unpack(AS_LIMIT, numbers, position)
    end
    local limit = next_limit()
    limit.key, limit.name = rule.sheet, name
    limit.kind, limit.a, limit.b, limit.c = kind, a, b, c
    if kind == 7 then
      limit.d, limit.e, position = unpack('<dd', numbers, position)
    end
    read(limit)
    local wait = WAIT[kind](limit, cost, now)
    limit.wait, limit.passes = wait, wait == 0
    if kind == 5 then
      limit.delay_ms = bucket_ms_to_drain(limit, limit.level)
    end
    if wait ~= 0 then
      denied = true
      waits = waits or wait > 0
    end
  end
  rule.last = limit_count
  rule.denied_by_limit, rule.waits, rule.block_starts = denied, waits, false
  rule.passes = not denied and rule.blocked_ms == 0
  return rule
end

local function charge(rule, cost)
  for l = rule.first, rule.last do
    local limit = limits[l]
    CHARGE[limit.kind](limit, cost)
    limit.changed = true
  end
end

-- After a denial only logs that count denials change, and a block may start.
local function deny(rule, cost, denied_by_limit)
  rule.block_starts = rule.block and rule.blocked_ms == 0 and rule.waits
  if not denied_by_limit then
    return
  end
  for l = rule.first, rule.last do
    local limit = limits[l]
    if limit.kind == 2 and limit.c == 1 and cost <= limit.a then
      log_charge(limit, cost)
      limit.wait = log_wait(limit, cost, now)
      limit.changed = true
    end
  end
end

-- Gates remember denials of a subject; its digest ends the key of each of its sheets.
local function refund(rule, cost)
  call('PUBLISH', 'weir:signal:forget', rule.sheet:sub(-32))
  for l = rule.first, rule.last do
    local limit = limits[l]
    local kind = limit.kind
    REFUND[kind](limit, cost, now, grace_ms)
    limit.wait = WAIT[kind](limit, cost, now)
    limit.passes = limit.wait == 0
    limit.changed = kind ~= 2 and kind ~= 5
  end
end

local function write(limit, reset_ms)
  if limit.kind == 2 then
    log_write(limit, reset_ms, grace_ms)
  elseif reset_ms > 0 then
    write_counter(limit.key, limit.name, limit.kept_ms, reset_ms, STATE[limit.kind](limit))
  else
    -- As if never used.
    call('HDEL', limit.key, limit.name)
  end
end

-- Appends a limit's five numbers to the reply, and writes its counter if it changed.
local function report(rule, limit, denied, writes)
  local remaining, reset_ms = LEVEL[limit.kind](limit, now)
  if writes and limit.changed then
    write(limit, reset_ms)
  end
  local allowed = limit.passes and rule.blocked_ms == 0
  local retry_ms = limit.wait
  if retry_ms > 0 and rule.block_starts then
    retry_ms = max(retry_ms, rule.block_ms)
  elseif retry_ms >= 0 then
    retry_ms = max(retry_ms, rule.blocked_ms)
  end
  parts[#parts + 1] = pack('<ddddd', allowed and 1 or 0, remaining, reset_ms, retry_ms,
    allowed and not denied and limit.delay_ms or 0)
end

-- Settles the check whose rules were judged.
local function settle(act, cost, passes, denied_by_limit)
  local takes = act == CONSUME or act == PEEK
  local writes = act == CONSUME or act == REFUND_ACT
  if rule_count == 0 then
    parts[#parts + 1] = pack('<d', 4)
  end
  for r = 1, rule_count do
    local rule = rules[r]
    local enforced = rule.group == 0
    local rule_passes, rule_denied_by_limit = rule.passes, rule.denied_by_limit
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
    for l = rule.first, rule.last do
      report(rule, limits[l], takes and not rule_passes, writes)
    end
    if writes and rule.block_starts then
      local state = pack('<d', now + rule.block_ms * 1000)
      call('SET', rule.block, state, 'PX', rule.block_ms + grace_ms)
    end
  end
end

-- Hands back the first answer to the same request, if there was one.
local function repeated(record, fingerprint)
  local known = call('HMGET', record, 'fingerprint', 'text', 'numbers')
  if not known[1] then
    return false
  elseif known[1] ~= fingerprint then
    parts[#parts + 1] = pack('<d', 3)
  else
    parts[#parts + 1] = pack('<dd', 2, #known[3] / 8)
    parts[#parts + 1] = known[3]
    texts[#texts + 1] = known[2]
  end
  return true
end

return function(act, cost, count, sheet_total, idempotent)
  rule_count, limit_count = 0, 0
  local record = false
  if idempotent == 1 then
    record = keys[next_key]
    next_key = next_key + 1
  end
  first_sheet, next_key = next_key, next_key + sheet_total
  local passes, denied_by_limit = true, false
  for _ = 1, count do
    local rule = judge(cost)
    if rule.group == 0 then
      passes = passes and rule.passes
      denied_by_limit = denied_by_limit or rule.denied_by_limit
    end
  end
  if not record then
    return settle(act, cost, passes, denied_by_limit)
  end
  local fingerprint, text, record_ms = ARGV[next_arg], ARGV[next_arg + 1], ARGV[next_arg + 2]
  next_arg = next_arg + 3
  if repeated(record, fingerprint) then
    return
  end
  local first = #parts + 1
  settle(act, cost, passes, denied_by_limit)
  call('HSET', record, 'fingerprint', fingerprint, 'text', text,
    'numbers', table.concat(parts, '', first))
  call('PEXPIRE', record, record_ms)
end

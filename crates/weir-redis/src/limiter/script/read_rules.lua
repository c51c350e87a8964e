-- Reads the rules of a check, and those of their counters that have keys of their own.

local weir = ...
local check, rules, limits, hashes, enforced = weir.check, weir.rules, weir.limits, weir.hashes, weir.enforced
local algorithms, has_own_key, has_five_parameters = weir.algorithms, weir.has_own_key, weir.has_five_parameters
local unpack, min = struct.unpack, math.min

-- Reads what follows the limits of a rule. Returns its own cost (false: none), and the position after it.
local function read_more(rule, position)
  local has_own_cost, cost, memory_ms, length_count
  has_own_cost, cost, memory_ms, length_count, position = unpack(AS_MORE_OF_RULE, check.numbers, position)
  if length_count > 0 then
    local lengths = { memory_us = memory_ms * 1000 }
    for n = 1, length_count do
      local length_ms
      length_ms, position = unpack(AS_BLOCK_LENGTH, check.numbers, position)
      lengths[n] = length_ms
    end
    rule.lengths = lengths
  end
  return has_own_cost == 1 and cost, position
end

-- Reads the counter of a limit that has a key of its own. Returns whether the counter has also a field in the subject hash.
local function read_own_key(limit, kind)
  local key = check.keys[check.next_key]
  check.next_key = check.next_key + 1
  local log = limit.algorithm.read(key, check.now, check.now_ms, check.grace_ms, limit.a, limit.b, limit.c,
    check.operation == COMMIT and check.id or check.record and check.earlier_id)
  if not log then
    check.bad_key = key
    return false
  end
  if kind == KEEPING_LOG then
    log.whole = limit.d
  end
  limit.log = log
  return log.marked
end

-- Reads all rules. Returns the position after them.
function weir.read_rules(position, is_one)
  local numbers, charged_us, is_of_reservation, check_cost = check.numbers, check.charged_us, check.is_of_reservation, check.cost
  local count = 0
  for r = 1, check.rule_count do
    local alone, debt, has_more, block_ms, hash_number, limit_count = 0, 0, 0, 0, 1, 1
    local name, kind, a, b, c
    if is_one then
      name, kind, a, b, c, position = unpack(AS_LIMIT, numbers, position)
    else
      alone, debt, has_more, block_ms, hash_number, limit_count, name, kind, a, b, c, position =
        unpack(AS_RULE_LIMIT, numbers, position)
    end
    local rule, hash = rules[r], hashes[hash_number]
    local names, place = hash.names, hash.count
    rule.hash, rule.block_ms, rule.group = hash, block_ms, enforced
    if alone == 1 then
      rule.group, rule.passes, rule.denied = rule, true, false
    end
    if check.record then
      rule.name = name:sub(1, 10)
    end
    if block_ms > 0 then
      -- The counter of the block has the rule's part of the name, and the greatest slot.
      place = place + 1
      names[place], rule.block_place, rule.lengths = name:sub(1, 10) .. '\255\255', place, false
    end
    for l = 1, limit_count do
      if l > 1 then
        name, kind, a, b, c, position = unpack(AS_LIMIT, numbers, position)
      end
      count = count + 1
      local limit, algorithm = limits[count], algorithms[kind]
      limit.algorithm, limit.a, limit.b, limit.c, limit.log = algorithm, a, b, c, false
      if has_five_parameters[kind] then
        limit.d, limit.e, position = unpack(AS_MORE_PARAMETERS, numbers, position)
      end
      if charged_us > 0 then
        limit.level, position = unpack(AS_CHARGED_LEVEL, numbers, position)
      end
      if not has_own_key[kind] or read_own_key(limit, kind) then
        place = place + 1
        names[place], limit.place = name, place
      else
        limit.place = false
      end
      if is_of_reservation then
        limit.holds = kind ~= SPACING and kind ~= CONCURRENCY and name
      end
    end
    local cost, own_cost = check_cost, false
    if has_more == 1 then
      own_cost, position = read_more(rule, position)
      cost = own_cost or cost
    end
    rule.cost, rule.needed, rule.has_debt = cost, cost, debt == 1
    if own_cost == 0 then
      rule.needed = 1
    elseif debt == 1 or (is_of_reservation and check.accepts_less == 1) then
      rule.needed = min(cost, 1)
    end
    hash.count, rule.last = place, count
  end
  check.limit_count = count
  return position
end

-- Judges all limits of all rules, and writes nothing.

local weir = ...
local check, rules, limits, enforced = weir.check, weir.rules, weir.limits, weir.enforced
local read_counter, read_held_units = weir.read_counter, weir.read_held_units
local min = math.min

-- Judges the check. Returns the key that holds another type than it should, if there is one.
function weir.judge()
  local operation, now, now_ms, first = check.operation, check.now, check.now_ms, 1
  enforced.passes, enforced.denied = true, false
  check.sees_reservations = false
  if check.is_of_reservation then
    weir.see_reservations()
    check.amount = check.cost
  end
  for r = 1, check.rule_count do
    local rule = rules[r]
    local hash, group, needed, last, passes = rule.hash, rule.group, rule.needed, rule.last, true
    local values = hash.values
    for i = first, last do
      local limit = limits[i]
      local algorithm, log, place = limit.algorithm, limit.log, limit.place
      local value, held, wait = place and values[place], 0
      local expiry_ms, x, y, z, searched_ms
      if value then
        expiry_ms, x, y, z, searched_ms = read_counter(value, now_ms)
        if x and #value > 48 then
          held = read_held_units(limit, hash, value)
          if not held then
            return hash.key
          end
        end
      end
      if log then
        wait = algorithm.wait(log, needed + held)
      else
        limit.expiry_ms, limit.searched_ms = expiry_ms or false, searched_ms or false
        wait, limit.x, limit.y, limit.z, limit.number, limit.pulled =
          algorithm.judge(now, x, y, z, needed + held, limit.a, limit.b, limit.c, limit.d, limit.e, value)
      end
      if wait ~= 0 then
        passes = false
        if held > 0 then
          wait = weir.wait_beside_held_units(limit, rule)
        end
      elseif check.is_of_reservation and limit.holds and check.accepts_less == 1 and group == enforced and not rule.has_debt then
        -- The rest bounds the units that can be reserved.
        local left = log and log.limit - log.total
          or (algorithm.settle(now, false, 0, limit.x, limit.y, limit.z, limit.number, limit.a, limit.b, limit.c))
        check.amount = min(check.amount, left - held)
      end
      limit.wait = wait
    end
    if not passes then
      group.passes, group.denied = false, true
    end
    if rule.block_ms > 0 then
      rule.block_us = 0
      -- A step of the clock, or an edit of the rule, can have left the block longer than the rule says: then it begins again.
      local _, until_us, number = read_counter(values[rule.block_place], now_ms)
      if rule.lengths then
        weir.choose_block(rule, until_us, number)
      end
      if until_us and until_us > now then
        rule.block_us, group.passes = until_us - now, false
      end
    end
    if hash.open and hash.open.full_ms > 0 then
      group.passes = false
    end
    first = last + 1
  end
  check.writes = operation ~= PEEK and operation ~= INSPECT
  if operation == RESERVE or operation == EXHAUST then
    check.ends = check.now + check.time * 1000
    check.amount = operation == EXHAUST and EXHAUSTED_UNITS or enforced.passes and check.amount or 0
  end
end

-- Charges, refunds or denies, rule by rule, and makes the decision of each limit.

local weir = ...
local check, rules, limits, enforced = weir.check, weir.rules, weir.limits, weir.enforced
local settle_counter, mark_log, hold, write_block = weir.settle_counter, weir.mark_log, weir.hold, weir.write_block
local block_of, forget_denials, note_count = weir.block_of, weir.forget_denials, weir.note_count
local pack, max = struct.pack, math.max

-- Charges all rules of the check, and answers for their limits.
function weir.charge()
  local operation, parts, is_of_reservation = check.operation, check.parts, check.is_of_reservation
  local record = check.record
  local counted = record and check.counted
  local charges = operation == CONSUME or operation == PEEK or operation == RESERVE
  local refunds, records_all, sees_reservations = operation == REFUND, operation == RECORD or operation == COMMIT,
    check.sees_reservations
  local first, part_count = 1, check.part_count
  check.is_denied = charges and not enforced.passes
  for r = 1, check.rule_count do
    local rule = rules[r]
    local group, hash, block_ms, last = rule.group, rule.hash, rule.block_ms, rule.last
    local is_enforced = group == enforced
    -- The count of an earlier attempt of the request at the rule.
    local earlier = counted and counted[rule.name]
    -- A rule with a cost of 0 of its own only looks: it needs a unit and takes none.
    local acts = charges and rule.needed <= rule.cost
    -- Where the enforced rules deny, nothing is reserved at a rule alone either.
    local admits = acts and group.passes and (not is_of_reservation or enforced.passes)
    local is_denied, exhausts = acts and not admits, operation == EXHAUST and is_enforced and hash.open.full_ms == 0
    -- A repeat counts nothing that an earlier attempt counted; an admission charges all enforced rules.
    local rule_takes, rule_records = admits and (is_enforced or earlier ~= CHARGED), records_all and rule.cost > 0
    rule.refunds, rule.counts_denial = refunds and is_enforced, is_denied and not earlier
    local count, has_debt, blocked_ms, starts, restarts = admits and CHARGED or earlier, false, 0, false, false
    if block_ms > 0 then
      blocked_ms, starts, restarts = block_of(rule, first)
    end
    if hash.open and hash.open.full_ms > blocked_ms then
      blocked_ms = hash.open.full_ms
    end
    if rule.refunds then
      forget_denials(hash)
    end
    for i = first, last do
      local limit, takes, records = limits[i], rule_takes, rule_records
      local log, held = limit.log, sees_reservations and limit.held or 0
      local judged = limit.wait
      local wait, remaining, reset_ms, delay_ms, returned
      if is_of_reservation then
        -- A spacing is charged when it is reserved, all others when it is committed.
        takes, records = takes and not limit.holds, records and limit.holds
      end
      if log then
        -- A lease that an earlier attempt took has ended, so another one is taken.
        takes = takes or admits and log.lease_us
        wait, remaining, reset_ms, returned = limit.algorithm.settle(log, rule, takes, records, held > 0 and limit)
        wait, delay_ms = admits and 0 or wait, 0
        if rule.counts_denial and group.denied and log.count_denied == 1 then
          count = count or DENIED
        end
        if check.writes and held > 0 then
          mark_log(log.key, limit.units_end)
        end
      else
        wait, remaining, reset_ms, delay_ms, returned = settle_counter(limit, rule, takes, records, held)
      end
      if sees_reservations then
        if is_of_reservation and limit.holds and (exhausts or operation == RESERVE and admits) then
          held = held + check.amount
          hold(limit, hash)
        end
        remaining = max(0, remaining - held)
      end
      if rule.refunds or records then
        judged = wait
      end
      if exhausts and limit.holds then
        wait = wait ~= FOREVER and max(wait, check.time) or FOREVER
        judged = wait
      end
      local allowed = judged == 0 and blocked_ms == 0
      has_debt = has_debt or (records and wait ~= 0)
      if starts and wait > 0 then
        wait = max(wait, block_ms)
      elseif wait >= 0 and wait < blocked_ms then
        wait = blocked_ms
      end
      if refunds then
        delay_ms = returned and 1 or 0
      elseif not allowed or is_denied then
        delay_ms = 0
      end
      part_count = part_count + 1
      parts[part_count] = pack(AS_DECISION, allowed and 1 or 0, remaining, reset_ms, wait, delay_ms)
    end
    if has_debt then
      -- Denials can last longer now.
      forget_denials(hash)
    end
    if record and check.is_denied then
      note_count(rule, count or starts and DENIED)
    end
    if check.writes and (starts or restarts) then
      write_block(rule)
    end
    first = last + 1
  end
  check.part_count = part_count
end

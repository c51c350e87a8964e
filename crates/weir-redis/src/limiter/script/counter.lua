-- Settles counters in subject hashes.

local weir = ...
local check = weir.check
local read_counter, fourth_number, ms_until = weir.read_counter, weir.fourth_number, weir.ms_until
local pack, max = struct.pack, math.max
local SEARCH_EVERY_MS = 1000

-- Refunds the cost of a rule, or records it, and judges the counter again. Returns whether units returned, and the wait.
local function refund_or_record(limit, rule, records, held)
  local algorithm, hash, now, returned = limit.algorithm, rule.hash, check.now, false
  local x, y, z, number, a, b, c = limit.x, limit.y, limit.z, limit.number, limit.a, limit.b, limit.c
  local needed, wait, _ = rule.needed + held
  if records then
    _, _, _, x, y, z = algorithm.settle(now, true, rule.cost, x, y, z, number, a, b, c)
    wait, limit.x, limit.y, limit.z, limit.number = algorithm.judge(now, x, y, z, needed, a, b, c, limit.d, limit.e)
  else
    local value = hash.values[limit.place]
    local _, stored_x, _, stored_z = read_counter(value, check.now_ms)
    if stored_x then
      x, y, z = algorithm.refund(x, y, z, number, rule.cost, limit.pulled, stored_x, stored_z, fourth_number(value),
        check.charged_us, limit.level, now, a, b, c)
      returned = x ~= nil
    end
    if returned then
      limit.x, limit.y, limit.z = x, y, z
    end
    wait = algorithm.judge(now, limit.x, limit.y, limit.z, needed, a, b, c, limit.d, limit.e)
  end
  if held > 0 and wait ~= 0 then
    wait = weir.wait_beside_held_units(limit, rule)
  end
  return returned, wait
end

-- Charges, refunds or records. Notes the new value, if there is one, for `write_hashes`. Returns the wait, remaining, reset_ms,
-- delay_ms, and whether units returned.
function weir.settle_counter(limit, rule, takes, records, held)
  local algorithm, wait, returned = limit.algorithm, limit.wait, false
  if records or (rule.refunds and algorithm.refund) then
    returned, wait = refund_or_record(limit, rule, records, held)
  end
  local remaining, reset_ms, delay_ms, x, y, z, fourth =
    algorithm.settle(check.now, takes, rule.cost, limit.x, limit.y, limit.z, limit.number, limit.a, limit.b, limit.c)
  if not (takes or records or returned or limit.pulled) or not check.writes then
    return wait, remaining, reset_ms, delay_ms, returned
  end
  local hash, place, now_ms, rest_ms = rule.hash, limit.place, check.now_ms, reset_ms
  local units = check.sees_reservations and limit.units
  if fourth and not (takes or records or returned) then
    -- Only the time was pulled back: the units are of the window in which they were taken.
    fourth = fourth_number(hash.values[place])
  end
  if units then
    rest_ms = max(reset_ms, ms_until(limit.units_end, check.now))
  end
  if rest_ms == 0 then
    -- The counter is as if never used.
    hash.lost = hash.lost + 1
    hash.gone[hash.lost] = hash.names[place]
    return wait, remaining, reset_ms, delay_ms, returned
  elseif reset_ms == 0 then
    -- The counter is as if never used; the field stays for the held units.
    x, y, z, fourth = 0, 0, 0, nil
  end
  local expiry_ms, searched_ms, changed, changes = limit.expiry_ms, limit.searched_ms, hash.changed, hash.changes
  local needed_ms = now_ms + rest_ms
  local expires = needed_ms + check.grace_ms
  if expiry_ms and needed_ms < expiry_ms and expiry_ms <= expires then
    expires = expiry_ms
  elseif not expiry_ms or expiry_ms < expires then
    hash.lengthens = true
  else
    hash.shortens = true
  end
  if expires > hash.longest then
    hash.longest = expires
  end
  if not searched_ms or now_ms - searched_ms >= SEARCH_EVERY_MS then
    searched_ms, hash.searches = now_ms, true
  end
  changes[changed + 1] = hash.names[place]
  changes[changed + 2] = units and pack('<dddddddd', expires, x, y, z, searched_ms, fourth or 0, units, limit.units_end)
    or fourth and pack('<dddddd', expires, x, y, z, searched_ms, fourth)
    or pack('<ddddd', expires, x, y, z, searched_ms)
  hash.changed = changed + 2
  return wait, remaining, reset_ms, delay_ms, returned
end

-- Reads a check: its numbers, and the keys of its subject hashes.

local weir = ...
local check, hashes, read_record, read_rules = weir.check, weir.hashes, weir.read_record, weir.read_rules
local unpack = struct.unpack

-- Reads the check whose operation and cost end before `position`. Returns the position after the check.
function weir.read(operation, cost, position)
  local numbers, is_one = check.numbers, operation == CONSUME_ONE
  local rule_count, hash_count, idempotent = 1, 1, 0
  if not is_one then
    rule_count, hash_count, idempotent, position = unpack(AS_CHECK_REST, numbers, position)
  end
  check.charged_us, check.acquires, check.renews, check.is_of_reservation = 0, false, false, false
  if operation == REFUND then
    check.charged_us, position = unpack(AS_CHARGE_TIME, numbers, position)
  elseif is_one then
    operation = CONSUME
  elseif operation >= RESERVE then
    check.id, check.time, check.accepts_less, position = unpack(AS_RESERVATION, numbers, position)
    check.acquires, check.renews = operation == ACQUIRE, operation == RENEW or operation == RELEASE
    check.is_of_reservation = not (check.acquires or check.renews)
    if check.acquires then
      operation = CONSUME
    end
  end
  check.operation, check.cost, check.rule_count, check.hash_count = operation, cost, rule_count, hash_count
  check.bad_key, check.record = false, false
  if idempotent == 1 then
    read_record()
  end
  local next_key = check.next_key
  for h = 1, hash_count do
    local hash = hashes[h]
    hash.key, hash.count, hash.changed, hash.lost = check.keys[next_key + h - 1], 0, 0, 0
    hash.longest, hash.lengthens, hash.shortens, hash.searches = 0, false, false, false
    hash.open, hash.holds = false, false
  end
  -- The names of the keys of reservations follow from those of the hashes.
  check.next_key = next_key + hash_count + (check.is_of_reservation and hash_count or check.renews and 1 or 0)
  return read_rules(position, is_one)
end

-- Decides any check: judges all limits of all its rules, then charges all of them or none. A subject hash is read with one
-- command and written with one.

local weir = ...
local check, hashes = weir.check, weir.hashes
local read, read_counters, judge, charge, write_hashes = weir.read, weir.read_counters, weir.judge, weir.charge, weir.write_hashes
local answer, answer_unreadable = weir.answer, weir.answer_unreadable

-- Reads the reservations of the subjects of a RESERVE, COMMIT or EXHAUST. Returns whether the check can be decided.
local function read_all_reservations()
  local is_open = check.operation ~= COMMIT
  for h = 1, check.hash_count do
    local open = weir.read_reservations(hashes[h])
    if not open then
      answer_unreadable(hashes[h].key)
      return false
    end
    hashes[h].open, is_open = open, is_open or open.found
  end
  if not is_open then
    weir.answer_not_open()
  end
  return is_open
end

-- Decides the check whose operation and cost end before `position`. Returns the position after the check.
function weir.decide_any(operation, cost, position)
  position = read(operation, cost, position)
  if check.record and weir.repeat_answer() then
    return position
  end
  local first_part = check.part_count + 1
  if check.renews then
    if weir.renew() then
      answer(first_part)
    end
    return position
  end
  read_counters()
  if check.bad_key then
    answer_unreadable(check.bad_key)
    return position
  elseif check.is_of_reservation and not read_all_reservations() then
    return position
  end
  local bad_key = judge()
  if bad_key then
    answer_unreadable(bad_key)
    return position
  end
  charge()
  if check.writes then
    write_hashes()
  end
  answer(first_part, check.sees_reservations and check.writes and weir.reserve() or 0)
  return position
end

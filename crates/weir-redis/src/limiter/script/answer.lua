-- Completes the answer to a check.

local weir = ...
local check = weir.check
local pack = struct.pack

-- Adds numbers to the answers.
local function add(numbers)
  local count = check.part_count + 1
  check.parts[count], check.part_count = numbers, count
end
weir.add = add

-- Adds a text to the answers.
local function add_text(text)
  check.text_count = check.text_count + 1
  check.texts[check.text_count] = text
end
weir.add_text = add_text

-- The answer to a check that cannot be decided, because this key holds another type than it should.
function weir.answer_unreadable(key)
  add(pack('<d', UNREADABLE))
  add_text(key)
end

-- The answer to a check whose reservation or lease is not open.
function weir.answer_not_open()
  add(pack('<d', NOT_OPEN))
end

-- Adds the settlement to the decisions of the limits, which are the parts from `first_part` on. `released` are the units that a
-- commit released. Records the answer if the check is idempotent.
function weir.answer(first_part, released)
  local operation = check.operation
  if operation == RESERVE or operation == EXHAUST then
    add(pack(AS_SETTLEMENT, SETTLED, check.amount, check.ends, 0, 0))
  elseif operation == COMMIT then
    add(pack(AS_SETTLEMENT, SETTLED, released, check.cost, 0, 0))
  elseif check.acquires or check.renews then
    add(pack(AS_SETTLEMENT, SETTLED, 0, check.now, 0, 0))
  elseif check.rule_count == 0 then
    add(pack('<d', WITHOUT_LIMITS))
  end
  if check.record then
    weir.write_record(first_part)
  end
end

-- Idempotency records: the first answer to a request, and what its denied attempts counted.

local weir = ...
local check = weir.check
local call, try, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local concat, char = table.concat, string.char

-- Reads the record of the check. `counted` are the counts of earlier attempts of the same request, which were denied: by rule
-- CHARGED or DENIED; `earlier_id` is the id of the leases that the last of them took.
function weir.read_record()
  local arguments, next_argument = check.arguments, check.next_argument
  check.record, check.next_key = check.keys[check.next_key], check.next_key + 1
  check.fingerprint, check.text = arguments[next_argument], arguments[next_argument + 1]
  check.record_ms, check.next_argument = arguments[next_argument + 2], next_argument + 3
  check.known = try('HMGET', check.record, 'fingerprint', 'text', 'numbers', 'at', 'denied')
  check.counted, check.earlier_id, check.marks = false, false, ''
  local attempts, length = check.known[5], #check.fingerprint + 1
  if attempts and not check.known[1] and attempts:sub(1, length) == check.fingerprint .. '\0' then
    check.counted, check.earlier_id = {}, attempts:sub(length + 1, length + 16)
    for i = length + 17, #attempts, 11 do
      check.counted[attempts:sub(i, i + 9)] = attempts:byte(i + 10)
    end
  end
end

-- Answers as the first time, if the request was answered before under its idempotency key. A damaged record counts as none.
-- Returns whether it was.
function weir.repeat_answer()
  local known, add = check.known, weir.add
  local first, text, numbers, at = known[1], known[2], known[3], known[4]
  if known.err then
    check.bad_key = check.record
    return false
  elseif not (first and text and numbers and #numbers >= 8 and #numbers % 8 == 0) then
    return false
  elseif first ~= check.fingerprint then
    add(pack('<d', KEY_REUSED))
  else
    -- Earlier releases recorded no time.
    add(pack(AS_REPETITION, REPEATED, at and #at == 8 and unpack('<d', at) or 0, #numbers / 8))
    add(numbers)
    weir.add_text(text)
  end
  return true
end

-- Records the answer, whose numbers are the parts from `first_part` on. A denial is decided anew when it is repeated; its record
-- has only what it counted.
function weir.write_record(first_part)
  local record = check.record
  if check.record_ms == '0' then
    return
  elseif not check.is_denied then
    call('HSET', record, 'fingerprint', check.fingerprint, 'text', check.text, 'numbers',
      concat(check.parts, '', first_part, check.part_count), 'at', pack('<d', check.now))
  elseif check.marks ~= '' then
    local id = check.acquires and check.id or ('\0'):rep(16)
    call('HSET', record, 'denied', check.fingerprint .. '\0' .. id .. check.marks)
  else
    return
  end
  call('PEXPIRE', record, check.record_ms)
end

-- Notes what a denied check counted at a rule, if anything.
function weir.note_count(rule, count)
  if count then
    check.marks = check.marks .. rule.name .. char(count)
  end
end

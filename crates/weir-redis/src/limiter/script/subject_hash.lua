-- Subject hashes: all counters of a subject but for logs, and its blocks, are fields of one hash, so that a check of
-- many limits reads and writes one key, and writes only the fields that change.
-- Field: the counter's name, 12 bytes. Value: the counter's expiry, three numbers of its algorithm, and the time at which
-- the hash was last searched for dead counters (both times in ms of Redis' own clock); some algorithms add a fourth
-- number. The first number of a block is the time at which it ends. A counter that expired and a malformed value count as
-- untouched. The key lives at least as long as any of its counters.

local weir = ...
local call, unpack, upto = redis.call, struct.unpack, unpack

-- The expiry of a counter that is needed for reset_ms. An expiry that is later by at most grace_ms is retained, so
-- that the key's need not be changed.
function weir.expiry(expiry_ms, reset_ms, now_ms, grace_ms)
  local needed_ms = now_ms + reset_ms
  if expiry_ms and needed_ms < expiry_ms and expiry_ms <= needed_ms + grace_ms then
    return expiry_ms
  end
  return needed_ms + grace_ms
end

-- A value's expiry, three numbers and time of search. The numbers are nil if the counter expired; all are nil if
-- there is no value, or a malformed one.
local function read_counter(value, now_ms)
  if not value or #value < 40 then
    if not value or #value ~= 32 then
      return nil
    end
    -- A value of an earlier release has no time of search.
    value = value .. '\0\0\0\0\0\0\0\0'
  end
  local expiry_ms, x, y, z, searched_ms = unpack('<ddddd', value)
  if not (expiry_ms >= 0 and x >= 0 and y >= 0 and z >= 0 and searched_ms >= 0
      and expiry_ms + x + y + z + searched_ms < 1e16) then
    return nil
  elseif expiry_ms <= now_ms then
    return expiry_ms, nil, nil, nil, searched_ms
  end
  return expiry_ms, x, y, z, searched_ms
end
weir.read_counter = read_counter

-- The fourth number of a value, or nil.
function weir.fourth_number(value)
  return value and #value >= 48 and unpack('<d', value, 41) or nil
end

-- Makes a key live at least until the given time. Returns whether the key is new.
function weir.lengthen(key, until_ms, now_ms)
  local left_ms = call('PTTL', key)
  if left_ms <= until_ms - now_ms then
    call('PEXPIREAT', key, until_ms)
  end
  return left_ms < 0
end

-- Removes the dead counters of a subject hash if more than half of a sample of 16 are dead: at most 200 at a time,
-- because every other call waits.
function weir.remove_dead(key, now_ms)
  local dead
  for _, most in ipairs({ 16, 200 }) do
    local sample = call('HRANDFIELD', key, most, 'WITHVALUES')
    dead = {}
    for i = 1, #sample, 2 do
      local expiry_ms = read_counter(sample[i + 1], now_ms)
      if not expiry_ms or expiry_ms <= now_ms then
        dead[#dead + 1] = sample[i]
      end
    end
    if #dead * 4 <= #sample then
      return
    elseif #sample < 32 then
      break
    end
  end
  call('HDEL', key, upto(dead, 1, #dead))
end

-- Gates cache denials of a subject; its digest ends the key of its hash.
function weir.forget_denials(hash)
  call('PUBLISH', 'weir:signal:forget', hash.key:sub(-32))
end

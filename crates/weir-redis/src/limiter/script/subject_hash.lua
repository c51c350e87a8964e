-- Subject hashes: all counters of a subject but for logs, and its blocks, are fields of one hash, so that a check of
-- many limits reads and writes one key, and writes only the fields that change.
-- Field: the counter's name, 12 bytes. Value: the counter's expiry, three numbers of its algorithm, and the time at which
-- the hash was last searched for dead counters (both times in ms of Redis' own clock); some algorithms add a fourth
-- number. The first number of a block is the time at which it ends. A counter that expired and a malformed value count as
-- untouched. The key lives at least as long as any of its counters.

local unpack = struct.unpack

-- The expiry of a counter that is needed for reset_ms. An expiry that is later by at most grace_ms is retained, so
-- that the key's need not be changed.
local function expiry(expiry_ms, reset_ms, now_ms, grace_ms)
  local needed_ms = now_ms + reset_ms
  if expiry_ms and needed_ms < expiry_ms and expiry_ms <= needed_ms + grace_ms then
    return expiry_ms
  end
  return needed_ms + grace_ms
end

-- A value's expiry, three numbers and time of search. The numbers are nil if the counter expired; all are nil if
-- there is no value, or a malformed one.
local function read_counter(state, now_ms)
  if not state or #state < 40 then
    if not state or #state ~= 32 then
      return nil
    end
    -- A value of an earlier release has no time of search.
    state = state .. '\0\0\0\0\0\0\0\0'
  end
  local expiry_ms, x, y, z, searched_ms = unpack('<ddddd', state)
  if not (expiry_ms >= 0 and x >= 0 and y >= 0 and z >= 0 and searched_ms >= 0
      and expiry_ms + x + y + z + searched_ms < 1e16) then
    return nil
  elseif expiry_ms <= now_ms then
    return expiry_ms, nil, nil, nil, searched_ms
  end
  return expiry_ms, x, y, z, searched_ms
end

return expiry, read_counter

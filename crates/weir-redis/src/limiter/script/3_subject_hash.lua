
-- Subject hashes: all counters of a subject but for logs are fields of one hash, so that a check of many limits
-- reads and writes one key, and writes no more of it than changes.
-- Field: the counter's name, 12 bytes. Value: when the counter expires, three numbers of its algorithm, and when
-- the hash was last searched for dead counters (both times in ms of Redis' own clock); a sliding window counter adds
-- its window_us. A counter that expired, and a value that is none of these, count as untouched. The key lives at
-- least as long as any of its counters.

local AS_COUNTER, AS_PAIR = '<ddddd', '<dddddd'
-- A hash is searched at most this often for each counter.
local SEARCH_EVERY_MS = 1000

-- When a counter expires that is needed for reset_ms. One that would anyway, later by no more than grace_ms,
-- keeps its expiry, so that the key's need not be touched.
local function expiry(kept_ms, reset_ms)
  local needed_ms = now_ms + reset_ms
  if kept_ms and needed_ms < kept_ms and kept_ms <= needed_ms + grace_ms then
    return kept_ms
  end
  return needed_ms + grace_ms
end

-- A value's expiry, three numbers and time of search. The numbers are nil if the counter expired; all are nil if
-- there is none, or a damaged one.
local function read_counter(state)
  if not state or #state < 40 then
    if not state or #state ~= 32 then
      return nil
    end
    -- Of an earlier release: without a time of search.
    state = state .. pack('<d', 0)
  end
  local kept_ms, x, y, z, searched_ms = unpack('<ddddd', state)
  if not (kept_ms >= 0 and x >= 0 and y >= 0 and z >= 0 and searched_ms >= 0
      and kept_ms + x + y + z + searched_ms < 1e16) then
    return nil
  elseif kept_ms <= now_ms then
    return kept_ms, nil, nil, nil, searched_ms
  end
  return kept_ms, x, y, z, searched_ms
end

-- Makes a key live at least until then. Returns whether it is new.
local function lengthen(key, until_ms)
  local left_ms = call('PTTL', key)
  if left_ms <= until_ms - now_ms then
    call('PEXPIREAT', key, until_ms)
  end
  return left_ms < 0
end

-- Removes the dead counters of a hash once they are the larger half, as far as 16 of them tell: at most 200 at a time, so
-- that nobody waits for it.
local function remove_dead(key, read_counter, now_ms, upto)
  local call, dead = redis.call, {}
  for _, most in ipairs({ 16, 200 }) do
    local some = call('HRANDFIELD', key, most, 'WITHVALUES')
    dead = {}
    for i = 1, #some, 2 do
      local kept_ms = read_counter(some[i + 1])
      if not kept_ms or kept_ms <= now_ms then
        dead[#dead + 1] = some[i]
      end
    end
    if #dead * 4 <= #some then
      return
    elseif #some < 32 then
      break
    end
  end
  call('HDEL', key, upto(dead, 1, #dead))
end

-- Answers that a key of the check holds another type than it should.
local function unreadable(parts, texts, key)
  parts[#parts + 1] = struct.pack('<d', 5)
  texts[#texts + 1] = key
end

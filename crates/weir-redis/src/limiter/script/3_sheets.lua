
-- Sheets: all counters of a subject but for logs are fields of one hash, so that a check of many limits
-- reads and writes one key, and writes no more of it than changes.
-- Field: the counter's name, 12 bytes. Value: when it expires (in ms of Redis' own clock), and three
-- numbers of its algorithm's own. A counter that expired is as if it were not there. The key lives at least as
-- long as any of its counters.

local AS_COUNTER = '<dddd'
local SWEEP_EVERY = 16

-- When a counter expires that is needed for reset_ms. One that would anyway, later by no more than grace_ms,
-- keeps its expiry, so that the key's need not be touched.
local function expiry(kept_ms, reset_ms)
  local needed_ms = now_ms + reset_ms
  if kept_ms and needed_ms < kept_ms and kept_ms <= needed_ms + grace_ms then
    return kept_ms
  end
  return needed_ms + grace_ms
end

-- Takes the counters off a sheet that expired.
local function sweep(key)
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do
    if unpack('<d', all[i + 1]) <= now_ms then
      call('HDEL', key, all[i])
    end
  end
end

-- Makes a sheet live at least so long, on which so many counters are new.
local function lengthen(key, until_ms, added)
  local left_ms = call('PTTL', key)
  if left_ms <= until_ms - now_ms then
    call('PEXPIREAT', key, until_ms)
  end
  if left_ms > 0 and added > 0 and call('HLEN', key) % SWEEP_EVERY < added then
    sweep(key)
  end
end

-- A counter that has not expired: its three numbers. In any case, when it expires.
local function read_counter(state)
  if not state then
    return nil
  end
  local kept_ms, x, y, z = unpack(AS_COUNTER, state)
  if kept_ms <= now_ms then
    return kept_ms
  end
  return kept_ms, x, y, z
end

local function write_counter(key, name, kept_ms, reset_ms, x, y, z)
  local expires = expiry(kept_ms, reset_ms)
  local added = call('HSET', key, name, pack(AS_COUNTER, expires, x, y, z))
  if not kept_ms or kept_ms < expires then
    lengthen(key, expires, added)
  elseif expires < kept_ms and call('HLEN', key) == 1 then
    call('PEXPIREAT', key, expires)
  end
end

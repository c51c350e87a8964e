#!lua
-- Resets counters, as if they had never been used.
--
-- KEYS: subject hashes (see subject_hash.lua); then logs.
-- ARGV[1]: little-endian doubles: the number of subject hashes, and the number of counters in each.
-- ARGV[2]: a channel; then for each subject hash the message that announces the reset of its subject on it.
-- ARGV[…]: the names of these counters.
-- Reply: the number of counters that existed. A key of another type is removed. Open reservations hold no units at these
-- counters any more; the others of their counters are not concerned.

local unpack, call, try = struct.unpack, redis.call, redis.pcall
local time = call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local counter_hashes, position = unpack('<d', ARGV[1])
local removed, next_name = 0, counter_hashes + 3

-- Removes names from the members of the reservations of a subject (reservations.lua).
local function release(key, names)
  local members = try('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #members, 2 do
    local member, left = members[i], {}
    for at = 25, #member, 12 do
      local name = member:sub(at, at + 11)
      if not names[name] then
        left[#left + 1] = name
      end
    end
    if #left * 12 + 24 < #member then
      -- In this order the key is never empty, and keeps its expiry.
      call('ZADD', key, members[i + 1], member:sub(1, 24) .. table.concat(left))
      call('ZREM', key, member)
    end
  end
end

for s = 1, counter_hashes do
  local count
  count, position = unpack('<d', ARGV[1], position)
  local names = {}
  for name = next_name, next_name + count - 1 do
    local state = try('HGET', KEYS[s], ARGV[name])
    names[ARGV[name]] = true
    if type(state) == 'table' then
      removed = removed + call('UNLINK', KEYS[s])
    elseif state then
      call('HDEL', KEYS[s], ARGV[name])
      removed = removed + (#state >= 8 and unpack('<d', state) > now_ms and 1 or 0)
    end
  end
  next_name = next_name + count
  release(KEYS[s]:sub(1, -35) .. 'r:' .. KEYS[s]:sub(-32), names)
end
for k = counter_hashes + 1, #KEYS do
  removed = removed + call('UNLINK', KEYS[k])
end
for s = 1, counter_hashes do
  call('PUBLISH', ARGV[2], ARGV[2 + s])
end
return removed

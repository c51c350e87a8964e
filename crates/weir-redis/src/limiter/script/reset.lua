#!lua
-- Resets counters, as if they had never been used.
--
-- KEYS: subject hashes (see subject_hash.lua); then logs.
-- ARGV[1]: little-endian doubles: the number of subject hashes, and the number of counters in each.
-- ARGV[2]: a channel; then for each subject hash the message that announces the reset of its subject on it.
-- ARGV[…]: the names of these counters.
-- Reply: the number of counters that existed. A key of another type is removed.

local unpack, call, try = struct.unpack, redis.call, redis.pcall
local time = call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local counter_hashes, position = unpack('<d', ARGV[1])
local removed, next_name = 0, counter_hashes + 3

for s = 1, counter_hashes do
  local count
  count, position = unpack('<d', ARGV[1], position)
  for name = next_name, next_name + count - 1 do
    local state = try('HGET', KEYS[s], ARGV[name])
    if type(state) == 'table' then
      removed = removed + call('UNLINK', KEYS[s])
    elseif state then
      call('HDEL', KEYS[s], ARGV[name])
      removed = removed + (#state >= 8 and unpack('<d', state) > now_ms and 1 or 0)
    end
  end
  next_name = next_name + count
end
for k = counter_hashes + 1, #KEYS do
  removed = removed + call('UNLINK', KEYS[k])
end
for s = 1, counter_hashes do
  call('PUBLISH', ARGV[2], ARGV[2 + s])
end
return removed

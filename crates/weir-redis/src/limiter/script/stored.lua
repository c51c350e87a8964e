#!lua flags=no-writes
-- Reads counters as they are stored, whether or not their windows have ended.
--
-- KEYS: a subject hash for each counter.
-- ARGV[1]: the time in µs as a little-endian double; 0 stands for Redis' clock. ARGV[1 + n]: the name of the counter in KEYS[n].
-- Reply: the time in µs as a text, then for each counter its stored value, or false.

local time = redis.call('TIME')
local now = struct.unpack('<d', ARGV[1])
if now == 0 then
  now = time[1] * 1000000 + time[2]
end
local reply = { string.format('%.0f', now) }
for k = 1, #KEYS do
  local value = redis.pcall('HGET', KEYS[k], ARGV[k + 1])
  reply[k + 1] = type(value) == 'string' and value or false
end
return reply


-- The call at hand: what it asks, its time, and the answers so far.

local keys, numbers = KEYS, ARGV[1]
local now, grace_ms, checks, from_us, until_us, position = unpack('<ddddd', numbers)
-- Decisions go by now, in µs; expiries by Redis' own clock, in ms.
local now_ms
do
  local time = call('TIME')
  now_ms = time[1] * 1000 + floor(time[2] / 1000)
  if now == 0 then
    now = time[1] * 1000000 + time[2]
  end
end
if until_us > 0 and not (from_us <= now and now + SLACK_US < until_us) then
  return { now }
end
local CONSUME = 1
local next_key, next_arg = 1, 2
local parts, texts = {}, {}

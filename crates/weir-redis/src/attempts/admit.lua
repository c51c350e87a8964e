-- Charges all budgets and returns 0, or returns the longest wait in milliseconds if one is spent. A window that begins more than
-- its length in the future was written by a clock that has since been set back; it counts as over.
local now, window, wait = tonumber(ARGV[1]), tonumber(ARGV[2]), 0
local begun, count = {}, {}
for i, key in ipairs(KEYS) do
  local held = redis.call('HMGET', key, 'b', 'n')
  begun[i], count[i] = tonumber(held[1]), tonumber(held[2])
  if not begun[i] or not count[i] or now >= begun[i] + window or now < begun[i] - window then
    begun[i], count[i] = now, 0
  end
  if count[i] >= tonumber(ARGV[2 + i]) then
    wait = math.max(wait, begun[i] + window - now)
  end
end
if wait > 0 then return wait end
for i, key in ipairs(KEYS) do
  redis.call('HSET', key, 'b', begun[i], 'n', count[i] + 1)
  redis.call('PEXPIRE', key, 2 * window)
end
return 0

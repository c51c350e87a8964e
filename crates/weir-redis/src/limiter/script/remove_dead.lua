-- Removes the dead counters of a subject hash if more than half of a sample of 16 are dead: at most 200 at a time,
-- because every other call waits.

local key, read_counter, now_ms, upto = ...
local call, dead = redis.call, {}

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

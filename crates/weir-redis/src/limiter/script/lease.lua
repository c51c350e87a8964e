-- Renews or releases a lease (concurrency.lua). No rule takes part.

local weir = ...
local check, ms_until, lengthen = weir.check, weir.ms_until, weir.lengthen
local call, try, pack, format = redis.call, redis.pcall, struct.pack, string.format

-- Returns whether the lease is open.
function weir.renew()
  -- It is the last key of the check.
  local key, member, now = check.keys[check.next_key - 1], check.id .. pack('<d', check.time), check.now
  local ends = try('ZSCORE', key, member)
  if check.bad_key or (type(ends) == 'table' and ends.err) then
    weir.answer_unreadable(check.bad_key or key)
    return false
  elseif not ends or tonumber(ends) <= now then
    weir.answer_not_open()
    return false
  elseif check.operation == RENEW then
    call('ZADD', key, format('%.0f', now + check.time), member)
    lengthen(key, check.now_ms + ms_until(now + check.time, now) + check.grace_ms, check.now_ms)
  else
    call('ZREM', key, member)
  end
  check.is_denied = false
  return true
end

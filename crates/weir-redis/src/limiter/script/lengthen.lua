-- Makes a key live at least until the given time. Returns whether the key is new.

local key, until_ms, now_ms = ...

local left_ms = redis.call('PTTL', key)
if left_ms <= until_ms - now_ms then
  redis.call('PEXPIREAT', key, until_ms)
end
return left_ms < 0

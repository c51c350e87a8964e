-- Decides a single log in the usual cases: the entries can be read, none is newer than now, few are dead, no reservation
-- holds units, and the cost passes now or as soon as the oldest entry leaves the window. Returns the five numbers of the
-- answer, or nil in any other case, in which nothing was written. The form of entries is in sliding_window_log.lua.

local weir = ...
local ms_until, expiry = weir.ms_until, weir.expiry
local call, try, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack

function weir.charge_log(key, cost, limit, window_us, count_denied, now, now_ms, grace_ms)
  local newest = try('LINDEX', key, -1)
  local at, logged, last_cost, expiry_ms, total, dead = 0, 0, 0, 0, 0, 0
  local first_at, first_logged, first_cost
  if newest then
    if #newest ~= 32 then
      return nil
    end
    at, logged, last_cost, expiry_ms = unpack('<dddd', newest)
    if expiry_ms % 1 > 0 then
      -- The mark of reservations.lua.
      return nil
    end
    if at >= 0 and at + window_us <= now then
      dead = -1
    elseif at >= 0 and at <= now and last_cost >= 0 and logged >= 0 and logged < LOGGED then
      local entry, more = call('LINDEX', key, 0)
      total = nil
      while entry do
        first_at, first_logged, first_cost = unpack('<ddd', #entry == 32 and entry or newest)
        if first_at + window_us > now then
          total = (logged - first_logged + first_cost) % LOGGED
          break
        end
        more = more or call('LRANGE', key, 1, 4)
        dead = dead + 1
        entry = more[dead]
      end
    else
      return nil
    end
  end
  local excess = total and total + cost - limit
  if not total or (excess > 0 and (count_denied == 1 or cost > limit or first_cost < excess)) then
    return nil
  elseif excess > 0 then
    local remaining = total < limit and limit - total or 0
    return 0, remaining, ms_until(at + window_us, now), ms_until(first_at + window_us, now), 0
  end
  local reset_ms = ms_until(now + window_us, now)
  local expires = expiry(expiry_ms, reset_ms, now_ms, grace_ms)
  if dead < 0 then
    call('DEL', key)
    logged, expiry_ms = 0, 0
  end
  if at == now then
    call('LSET', key, -1, pack('<dddd', at, (logged + cost) % LOGGED, last_cost + cost, expires))
  else
    call('RPUSH', key, pack('<dddd', now, (logged + cost) % LOGGED, cost, expires))
  end
  if dead > 0 then
    call('LTRIM', key, dead, -1)
  end
  if expires ~= expiry_ms then
    call('PEXPIREAT', key, expires)
  end
  return 1, limit - total - cost, reset_ms, 0, 0
end

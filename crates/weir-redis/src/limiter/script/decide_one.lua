-- Decides a CONSUME_ONE, which most checks are, with as few steps as possible.

local weir = ...
local algorithms, has_own_key, has_five_parameters = weir.algorithms, weir.has_own_key, weir.has_five_parameters
local expiry, read_counter, fourth_number = weir.expiry, weir.read_counter, weir.fourth_number
local lengthen, remove_dead, charge_log = weir.lengthen, weir.remove_dead, weir.charge_log
local call, try, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
-- A hash is searched for dead counters at most this often for each counter.
local SEARCH_EVERY_MS = 1000

-- Decides the check whose cost ends before `position`, and whose keys begin at `next_key`. Returns the five numbers of the
-- decision, and the position and next key after the check; or nil if `decide_any` must decide: nothing was written then.
function weir.decide_one(cost, position, keys, next_key, numbers, now, now_ms, grace_ms)
  local name, kind, a, b, c, after = unpack(AS_LIMIT, numbers, position)
  local key, d, e = keys[next_key]
  if has_own_key[kind] then
    if kind ~= SLIDING_WINDOW_LOG then
      return nil
    end
    -- Its key comes after that of the subject hash, which it does not use.
    local allowed, remaining, reset_ms, wait, delay_ms = charge_log(keys[next_key + 1], cost, a, b, c, now, now_ms, grace_ms)
    return allowed, remaining, reset_ms, wait, delay_ms, after, next_key + 2
  elseif has_five_parameters[kind] then
    d, e, after = unpack(AS_MORE_PARAMETERS, numbers, after)
  end
  local value = try('HGET', key, name)
  local expiry_ms, x, y, z, searched_ms = read_counter(value, now_ms)
  -- The key holds another type, or the value has a seventh number: reservations hold units at the counter.
  if value and (#value > 48 or (not expiry_ms and type(value) ~= 'string')) then
    return nil
  end
  local algorithm = algorithms[kind]
  local wait, number, pulled_back, remaining, reset_ms, delay_ms, fourth
  wait, x, y, z, number, pulled_back = algorithm.judge(now, x, y, z, cost, a, b, c, d, e, value)
  local passes = wait == 0
  remaining, reset_ms, delay_ms, x, y, z, fourth = algorithm.settle(now, passes, cost, x, y, z, number, a, b, c)
  if passes or pulled_back then
    if fourth and not passes then
      -- Only the time was pulled back: the units are of the window in which they were taken.
      fourth = fourth_number(value)
    end
    local expires = expiry(expiry_ms, reset_ms, now_ms, grace_ms)
    local searches, is_new = not searched_ms or now_ms - searched_ms >= SEARCH_EVERY_MS, false
    searched_ms = searches and now_ms or searched_ms
    call('HSET', key, name, fourth and pack('<dddddd', expires, x, y, z, searched_ms, fourth)
      or pack('<ddddd', expires, x, y, z, searched_ms))
    if not expiry_ms or expiry_ms < expires then
      is_new = lengthen(key, expires, now_ms)
    elseif expires < expiry_ms and call('HLEN', key) == 1 then
      call('PEXPIREAT', key, expires)
    end
    if searches and not is_new and call('HLEN', key) > 1 then
      remove_dead(key, now_ms)
    end
  end
  return passes and 1 or 0, remaining, reset_ms, wait, passes and delay_ms or 0, after, next_key + 1
end

-- concurrency: leases that are held at the same time. A check takes one, whatever its cost.
-- Parameters: capacity, lease_us. Its key is a sorted set of leases. Member: the id (16 bytes) and the lease_us with which it was
-- taken. Score: the end in µs. Leases that ended are removed when another one is taken.

local weir = ...
local ms_until, check = weir.ms_until, weir.check
local call, try, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local format, max = string.format, math.max

-- The first score above a number.
local function above(number)
  return format('(%.0f', number)
end

-- The open leases but those of the id `ended`, and those whose end the clock, which was set back, left too far ahead: they end
-- after their time at the latest. A malformed member has the time of the limit.
local function read_all(counter, ended)
  local now, ends = counter.now, {}
  counter.ended, counter.pulled = {}, {}
  local members = call('ZRANGEBYSCORE', counter.key, above(now), '+inf', 'WITHSCORES')
  for i = 1, #members, 2 do
    local member, at = members[i], tonumber(members[i + 1])
    local lease_us = #member == 24 and unpack('<d', member, 17) or counter.lease_us
    if ended and member:sub(1, 16) == ended then
      counter.ended[#counter.ended + 1] = member
    else
      if at > now + max(lease_us, counter.lease_us) then
        at = now + lease_us
        counter.pulled[#counter.pulled + 1] = at
        counter.pulled[#counter.pulled + 1] = member
      end
      ends[#ends + 1] = at
    end
  end
  table.sort(ends)
  counter.ends, counter.count = ends, #ends
end

-- The counter, or nil if the key holds another type.
local function read(key, now, now_ms, grace_ms, capacity, lease_us, _, ended)
  local far = try('ZCOUNT', key, above(now + lease_us), '+inf')
  if type(far) == 'table' then
    return nil
  end
  local counter = { key = key, now = now, now_ms = now_ms, grace_ms = grace_ms, capacity = capacity, lease_us = lease_us,
    ended = false, pulled = false, ends = false, count = 0, wait_ms = false }
  if far > 0 or ended then
    read_all(counter, ended)
  else
    counter.count = call('ZCOUNT', key, above(now), '+inf')
  end
  return counter
end

-- The end of the open lease at this place in the order of ends, from 0.
local function end_at(counter, place)
  if counter.ends then
    return counter.ends[place + 1]
  end
  return tonumber(call('ZRANGEBYSCORE', counter.key, above(counter.now), '+inf', 'WITHSCORES', 'LIMIT', place, 1)[2])
end

-- The wait does not depend on the cost, so it is found once.
local function wait(counter)
  local wait_ms = counter.wait_ms
  if not wait_ms then
    local over = counter.count - counter.capacity
    wait_ms = counter.capacity == 0 and FOREVER or over < 0 and 0 or ms_until(end_at(counter, over), counter.now)
    counter.wait_ms = wait_ms
  end
  return wait_ms
end

-- Takes a lease of this id, or writes what changed without one.
local function settle(counter, _, takes)
  local key, now, now_ms = counter.key, counter.now, counter.now_ms
  local wait_ms, writes = wait(counter), check.writes
  local reset_ms = counter.count > 0 and ms_until(end_at(counter, counter.count - 1), now) or 0
  if writes and counter.ended then
    for _, member in ipairs(counter.ended) do
      call('ZREM', key, member)
    end
    for i = 1, #counter.pulled, 2 do
      call('ZADD', key, format('%.0f', counter.pulled[i]), counter.pulled[i + 1])
    end
  end
  if takes then
    reset_ms, counter.count = max(reset_ms, ms_until(now + counter.lease_us, now)), counter.count + 1
    if writes then
      call('ZREMRANGEBYSCORE', key, '-inf', now)
      call('ZADD', key, format('%.0f', now + counter.lease_us), check.id .. pack('<d', counter.lease_us))
      local expires = now_ms + reset_ms + counter.grace_ms
      if call('PTTL', key) <= expires - now_ms then
        call('PEXPIREAT', key, expires)
      end
    end
  end
  return wait_ms, max(0, counter.capacity - counter.count), reset_ms
end

return { read = read, wait = wait, settle = settle }

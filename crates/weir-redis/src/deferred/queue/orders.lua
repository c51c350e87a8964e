-- When the orders of a queue are due, and how long its keys live.

local queue = ...
local due, waiting, jobs, states, ended, failed, tenants = unpack(KEYS)
local tenant, call, now, first = ARGV[2], redis.call, queue.now, queue.first
local KEEP_MS = 8 * 86400000

local function announce()
  local earliest = call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
  if earliest or call('ZCARD', failed) > 0 then
    call('ZADD', tenants, earliest or '+inf', tenant)
    call('PEXPIRE', tenants, KEEP_MS)
  else
    call('ZREM', tenants, tenant)
  end
  return earliest and math.max(earliest - now, 0)
end

local function keep()
  for _, key in ipairs({ due, waiting, jobs, states, ended, failed }) do
    call('PEXPIRE', key, KEEP_MS)
  end
end

-- A claim has a number of its own, because two claims of an order can fall into one millisecond.
local function claim(order, lease_ms)
  local number = call('HINCRBY', states, 'claims', 1)
  call('ZADD', due, now + lease_ms, order)
  call('HSET', states, 'claim:' .. order, number)
  return number
end

-- The first job of an order is attempted after `wait_ms`, and nobody owns it until then.
local function release(order, wait_ms)
  call('HDEL', states, 'claim:' .. order)
  if first(order) then
    call('ZADD', due, now + wait_ms, order)
  else
    call('ZREM', due, order)
  end
end

queue.announce = announce
queue.keep = keep
queue.claim = claim
queue.release = release

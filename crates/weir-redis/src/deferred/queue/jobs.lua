-- The queue of a tenant's deferred jobs: all of its changes, one in each call.
-- KEYS: due       sorted set of orders, by the time at which their first job is to be attempted (ms of Redis' clock). While
--                 a gate attempts it, the time at which the gate's claim ends.
--       waiting   sorted set of waiting jobs, all with the score 0: order (32), number (14), id (32). So the jobs of an
--                 order are neighbours, in the order of their arrival.
--       jobs      hash: id -> the job, as the gate wrote it.
--       states    hash: id -> what changes (JSON); claim:order -> the claim that settles the order. Also the last numbers of
--                 a job, `number`, and of a claim, `claims`; and `bytes`, those of waiting jobs.
--       ended     sorted set of jobs that no longer wait, by the time at which they are removed.
--       failed    sorted set of the dead letters, by the time at which they failed.
--       tenants   sorted set of the tenants of this hash tag that have jobs, by the earliest time in `due`; that of tenants with
--                 dead letters alone is infinite.
-- ARGV: operation, tenant, arguments of the operation.
-- The reply is JSON.

--
-- Each file has the table `queue` as its argument, takes from it what earlier files put there, and adds its own.

local queue = ...
local _, waiting, jobs, states, ended, failed = unpack(KEYS)
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ENDED_AT_ONCE = 50

queue.now = now

local function load(id)
  local text = call('HGET', states, id)
  return text and cjson.decode(text)
end

local function save(id, state)
  call('HSET', states, id, cjson.encode(state))
end

local function member(id, state)
  return state.order .. string.format('%014d', state.number) .. id
end

local function place(id, state)
  return call('ZLEXCOUNT', waiting, '[' .. state.order, '[' .. member(id, state))
end

-- The id of the first job of an order.
local function first(order)
  local found = call('ZRANGE', waiting, '[' .. order, '(' .. order .. 'g', 'BYLEX', 'LIMIT', 0, 1)[1]
  return found and found:sub(-32)
end

local function remove(id)
  call('HDEL', jobs, id)
  call('HDEL', states, id)
  call('ZREM', ended, id)
  call('ZREM', failed, id)
end

local function remove_ended()
  for _, id in ipairs(call('ZRANGE', ended, '-inf', now, 'BYSCORE', 'LIMIT', 0, ENDED_AT_ONCE)) do
    remove(id)
  end
end

local function is_full(bytes, count_max, bytes_max)
  local held = tonumber(call('HGET', states, 'bytes') or 0)
  return call('ZCARD', waiting) >= count_max or held + bytes > bytes_max
end

-- Appends a job to its order.
local function append(id, state)
  state.state, state.number = 'waiting', call('HINCRBY', states, 'number', 1)
  call('HINCRBY', states, 'bytes', state.bytes)
  call('ZADD', waiting, 0, member(id, state))
  save(id, state)
end

local function stop_waiting(id, state)
  call('ZREM', waiting, member(id, state))
  call('HINCRBY', states, 'bytes', -state.bytes)
end

queue.load = load
queue.save = save
queue.place = place
queue.first = first
queue.remove = remove
queue.remove_ended = remove_ended
queue.is_full = is_full
queue.append = append
queue.stop_waiting = stop_waiting

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

local due, waiting, jobs, states, ended, failed, tenants = unpack(KEYS)
local operation, tenant = ARGV[1], ARGV[2]
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local KEEP_MS = 8 * 86400000
local DELIVERED_MS, FAILED_MS = 600000, 7 * 86400000
local FAILED_MAX, ENDED_AT_ONCE = 1000, 50

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

-- Stores a job. The caller attempts it at once, with the claim of the reply, if no other job of its order waits.
local function put(id, order, fingerprint, job, lasts_ms, lease_ms, count_max, bytes_max)
  remove_ended()
  local known = load(id)
  if known then
    if known.fingerprint ~= fingerprint then
      return { outcome = 'reused' }
    end
    return { outcome = 'known', state = known, position = known.state == 'waiting' and place(id, known) or 0 }
  elseif is_full(#job, tonumber(count_max), tonumber(bytes_max)) then
    return { outcome = 'full' }
  end
  local state = { order = order, fingerprint = fingerprint, bytes = #job, lasts_ms = tonumber(lasts_ms),
    ends_ms = now + lasts_ms, denials = 0, attempts = 0, charged = false }
  call('HSET', jobs, id, job)
  append(id, state)
  local position = place(id, state)
  local claimed = position == 1 and not call('ZSCORE', due, order) and claim(order, lease_ms) or nil
  keep()
  announce()
  return { outcome = 'stored', state = state, position = position, claim = claimed }
end

-- Claims the first jobs of up to `most` orders that are due.
local function take(most, lease_ms)
  remove_ended()
  local taken = {}
  for _, order in ipairs(call('ZRANGE', due, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
    local id = first(order)
    if id then
      taken[#taken + 1] =
        { id = id, state = load(id), job = call('HGET', jobs, id), claim = claim(order, lease_ms), now_ms = now }
    else
      release(order, 0)
    end
  end
  return { next_ms = announce(), jobs = #taken > 0 and taken or nil }
end

-- Ends a claim, unless it is over. The job was delivered, has failed, or is attempted again after `wait_ms`.
local function settle(id, order, claimed, outcome, wait_ms, reason)
  if call('HGET', states, 'claim:' .. order) ~= claimed then
    return { settled = false }
  end
  local state = load(id)
  local wait = 0
  if state and state.state == 'waiting' then
    if outcome == 'denied' then
      state.denials, wait = state.denials + 1, tonumber(wait_ms)
    elseif outcome == 'charged' then
      state.charged, wait = true, tonumber(wait_ms)
    elseif outcome == 'undecided' then
      wait = tonumber(wait_ms)
    elseif outcome == 'undelivered' then
      state.charged, state.attempts, state.error, wait = true, state.attempts + 1, reason, tonumber(wait_ms)
    else
      stop_waiting(id, state)
      state.state = outcome
      if outcome == 'delivered' then
        state.charged, state.error = true, nil
        call('HDEL', jobs, id)
        call('ZADD', ended, now + DELIVERED_MS, id)
      else
        state.error, state.failed_ms = reason, now
        call('ZADD', failed, now, id)
        call('ZADD', ended, now + FAILED_MS, id)
        for _, oldest in ipairs(call('ZRANGE', failed, 0, -FAILED_MAX - 1)) do
          remove(oldest)
        end
      end
      keep()
    end
    save(id, state)
  end
  release(order, wait)
  announce()
  return { settled = true }
end

local function find(id)
  local state = load(id)
  if not state then
    return {}
  end
  return { state = state, position = state.state == 'waiting' and place(id, state) or 0 }
end

-- Removes a job that waits or has failed.
local function cancel(id, only)
  local state = load(id)
  if not state or state.state == 'delivered' or (only and state.state ~= only) then
    return { settled = false }
  end
  if state.state == 'waiting' then
    local was_first = first(state.order) == id
    stop_waiting(id, state)
    if was_first and call('HEXISTS', states, 'claim:' .. state.order) == 0 then
      -- The next job does not wait for the time of this one.
      release(state.order, 0)
    end
  end
  remove(id)
  announce()
  return { settled = true }
end

-- Lets a job that has failed wait again, behind the others of its order.
local function again(id, count_max, bytes_max)
  local state = load(id)
  if not state or state.state ~= 'failed' then
    return { outcome = 'unknown' }
  elseif is_full(state.bytes, tonumber(count_max), tonumber(bytes_max)) then
    return { outcome = 'full' }
  end
  call('ZREM', failed, id)
  call('ZREM', ended, id)
  state.ends_ms, state.attempts, state.error, state.failed_ms = now + state.lasts_ms, 0, nil, nil
  append(id, state)
  if not call('ZSCORE', due, state.order) then
    call('ZADD', due, now, state.order)
  end
  keep()
  announce()
  return { outcome = 'stored', state = state, position = place(id, state) }
end

-- The use of the queue.
local function usage()
  remove_ended()
  announce()
  return { waiting = call('ZCARD', waiting), failed = call('ZCARD', failed),
    bytes = tonumber(call('HGET', states, 'bytes') or 0) }
end

-- Dead letters, the newest first, beginning behind `after`.
local function list(after, most)
  remove_ended()
  local from = 0
  if after ~= '' then
    local rank = call('ZREVRANK', failed, after)
    from = rank and rank + 1 or 0
  end
  local found = {}
  for _, id in ipairs(call('ZRANGE', failed, from, from + most - 1, 'REV')) do
    found[#found + 1] = { id = id, state = load(id), job = call('HGET', jobs, id) }
  end
  return { jobs = #found > 0 and found or nil, waiting = call('ZCARD', waiting), failed = call('ZCARD', failed),
    bytes = tonumber(call('HGET', states, 'bytes') or 0) }
end

local operations = { put = put, take = take, settle = settle, find = find, cancel = cancel, again = again, list = list,
  usage = usage }
return cjson.encode(operations[operation](unpack(ARGV, 3)))

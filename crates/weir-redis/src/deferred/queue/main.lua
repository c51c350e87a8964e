-- Looks at jobs and changes single ones; runs the operation of the call.

local queue = ...
local due, waiting, jobs, states, ended, failed = unpack(KEYS)
local call, now = redis.call, queue.now
local load, place, first, remove = queue.load, queue.place, queue.first, queue.remove
local remove_ended, is_full, append, stop_waiting = queue.remove_ended, queue.is_full, queue.append, queue.stop_waiting
local announce, keep, release = queue.announce, queue.keep, queue.release

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

local operations = { put = queue.put, take = queue.take, settle = queue.settle, find = find, cancel = cancel, again = again,
  list = list, usage = usage }
return cjson.encode(operations[ARGV[1]](unpack(ARGV, 3)))

-- Stores jobs, and attempts them.

local queue = ...
local due, _, jobs, states, ended, failed = unpack(KEYS)
local call, now = redis.call, queue.now
local load, save, place, first, remove = queue.load, queue.save, queue.place, queue.first, queue.remove
local remove_ended, is_full, append, stop_waiting = queue.remove_ended, queue.is_full, queue.append, queue.stop_waiting
local announce, keep, claim, release = queue.announce, queue.keep, queue.claim, queue.release
local DELIVERED_MS, FAILED_MS, FAILED_MAX = 600000, 7 * 86400000, 1000

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

queue.put = put
queue.take = take
queue.settle = settle

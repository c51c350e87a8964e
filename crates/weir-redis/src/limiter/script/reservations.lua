-- Reservations: units that are held outside the counters until a commit, or until their time has passed.
--
-- The open reservations of a subject are a sorted set beside its hash. Member: the id (16 bytes), the units, and the names
-- of the counters (12 bytes each) at which they are held. Score: the end in µs. Each of these counters has the sum of what
-- is held at it, and the latest end, as a seventh and eighth number of its field, so that a check without reservations
-- needs no further command: it sees the length of a value that it reads anyway. The field of a log has these two alone; the
-- newest entry of its list is marked by an expiry that is half a millisecond later.
-- The sum includes members that ended, until a check that writes removes them. A member whose end is too far ahead was made
-- before the clock was set back; it counts as ended.

local ms_until, read_counter, lengthen = ...
local call, try, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local format, max, min = string.format, math.max, math.min
local OPEN_MAX = 1000

-- The first score above a number.
local function above(number)
  return format('(%.0f', number)
end

-- Lets a member no longer hold its units.
local function free(open, member)
  local units = unpack('<d', member, 17)
  open.removed[#open.removed + 1] = member
  for i = 25, #member, 12 do
    local name = member:sub(i, i + 11)
    open.freed[name] = (open.freed[name] or 0) + units
  end
end

-- Whether a member holds units at one of these counters.
local function concerns(member, names)
  for i = 25, #member, 12 do
    if names[member:sub(i, i + 11)] then
      return true
    end
  end
  return false
end

-- Reads the reservations at the counters of a check: those that ended, the one to commit, and whether there is room for
-- another one. Returns nil if the key holds another type.
local function read(hash, now, operation, id, ends)
  local key = hash.key:sub(1, -35) .. 'r:' .. hash.key:sub(-32)
  local open = { key = key, removed = {}, freed = {}, found = false, units = 0, full_ms = 0 }
  local ended = try('ZRANGEBYSCORE', key, '-inf', now)
  if ended.err then
    return nil
  end
  local names, latest = {}, now + RESERVED_MAX_US
  for i = 1, hash.count do
    names[hash.names[i]] = true
  end
  for _, members in ipairs({ ended, call('ZRANGEBYSCORE', key, above(latest), '+inf') }) do
    for _, member in ipairs(members) do
      if concerns(member, names) then
        free(open, member)
      end
    end
  end
  if operation == COMMIT and now < ends and ends <= latest then
    for _, member in ipairs(call('ZRANGEBYSCORE', key, ends, ends)) do
      if member:sub(1, 16) == id then
        open.found, open.units = member, unpack('<d', member, 17)
        free(open, member)
      end
    end
  elseif (operation == RESERVE or operation == EXHAUST) and call('ZCOUNT', key, above(now), latest) >= OPEN_MAX then
    local first = call('ZRANGEBYSCORE', key, above(now), latest, 'WITHSCORES', 'LIMIT', 0, 1)
    open.full_ms = ms_until(tonumber(first[2]), now)
  end
  return open
end

-- The wait in ms of a charge that the held units deny: until enough of them are released, or the counter has room for
-- those that are left. `wait_for` is the judge of an algorithm, or the wait of a log.
local function wait(open, name, held, now, cost, wait_for, log, x, y, z, limit, b, c, d, e)
  if cost > limit then
    return FOREVER
  end
  local members = call('ZRANGEBYSCORE', open.key, above(now), now + RESERVED_MAX_US, 'WITHSCORES')
  local best, left, released_ms, names = nil, held, 0, { [name] = true }
  for i = -1, #members, 2 do
    local member, releases = members[i], i < 0
    if member and member ~= open.found and concerns(member, names) then
      left, released_ms, releases = max(0, left - unpack('<d', member, 17)), ms_until(tonumber(members[i + 1]), now), true
    end
    if releases then
      local ms
      if log then
        ms = wait_for(log, cost + left)
      else
        ms = wait_for(now, x, y, z, cost + left, limit, b, c, d, e)
      end
      if ms ~= FOREVER then
        best = min(best or max(ms, released_ms), max(ms, released_ms))
        if ms <= released_ms then
          break
        end
      end
    end
  end
  return best or FOREVER
end

-- Changes the units that are held at a counter.
local function change(key, name, units, ends, now, now_ms, grace_ms)
  local value = call('HGET', key, name)
  local expiry_ms, x, y, z, searched_ms = read_counter(value, now_ms)
  local fourth, held, latest = 0, 0, 0
  if x then
    fourth = #value >= 48 and unpack('<d', value, 41) or 0
    if #value > 48 then
      held, latest = unpack('<dd', value, 49)
      if units > 0 and latest <= now then
        -- All members of before were just removed, or lost.
        held = 0
      end
    end
  elseif units < 0 then
    return
  else
    -- A counter of zeros is as if never used.
    expiry_ms, x, y, z, searched_ms = 0, 0, 0, 0, now_ms
  end
  held, latest = max(0, held + units), max(latest, ends)
  if held > 0 then
    local expires = max(expiry_ms, now_ms + ms_until(latest, now) + grace_ms)
    call('HSET', key, name, pack('<dddddddd', expires, x, y, z, searched_ms, fourth, held, latest))
    lengthen(key, expires, now_ms)
  elseif x == 0 and y == 0 and z == 0 then
    call('HDEL', key, name)
  else
    call('HSET', key, name, pack('<dddddd', expiry_ms, x, y, z, searched_ms, fourth))
  end
end

-- Removes the members that no longer hold units, and adds a reservation of these units at these counters, if there are any.
local function write(open, key, names, id, units, ends, now, now_ms, grace_ms)
  for _, member in ipairs(open.removed) do
    call('ZREM', open.key, member)
    for i = 25, #member, 12 do
      change(key, member:sub(i, i + 11), -unpack('<d', member, 17), 0, now, now_ms, grace_ms)
    end
  end
  if names and #names > 0 then
    call('ZADD', open.key, ends, id .. pack('<d', units) .. table.concat(names))
    lengthen(open.key, now_ms + ms_until(ends, now) + grace_ms, now_ms)
    for _, name in ipairs(names) do
      change(key, name, units, ends, now, now_ms, grace_ms)
    end
  end
end

-- Marks a log at which units are held. The entry of a log without others is older than any window.
local function mark(key, ends, now, now_ms, grace_ms)
  local newest = call('LINDEX', key, -1)
  local expires = now_ms + ms_until(ends, now) + grace_ms
  if newest and #newest >= 32 then
    local at, logged, cost, expiry_ms = unpack('<dddd', newest)
    expires = max(expires, expiry_ms - expiry_ms % 1)
    call('LSET', key, -1, pack('<dddd', at, logged, cost, expires + 0.5))
  else
    call('RPUSH', key, pack('<dddd', 0, 0, 0, expires + 0.5))
  end
  call('PEXPIREAT', key, expires)
end

return read, wait, write, mark

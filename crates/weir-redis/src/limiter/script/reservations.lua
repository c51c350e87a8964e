-- Reservations: units that are held outside the counters until a commit, or until their time has passed.
--
-- The open reservations of a subject are a sorted set beside its hash. Member: the id (16 bytes), the units, and the names
-- of the counters (12 bytes each) at which they are held. Score: the end in µs. Each of these counters has the sum of what
-- is held at it, and the latest end, as a seventh and eighth number of its field, so that a check without reservations
-- needs no further command: it sees the length of a value that it reads anyway. The field of a log has these two alone; the
-- newest entry of its list is marked by an expiry that is half a millisecond later.
-- The sum includes members that ended, until a check that writes removes them. A member whose end is too far ahead was made
-- before the clock was set back; it counts as ended.

local weir = ...
local ms_until, check = weir.ms_until, weir.check
local call, try, unpack = redis.call, redis.pcall, struct.unpack
local format = string.format
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
local function read_reservations(hash)
  local now, operation = check.now, check.operation
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
  if operation == COMMIT and now < check.time and check.time <= latest then
    local ends = check.time
    for _, member in ipairs(call('ZRANGEBYSCORE', key, ends, ends)) do
      if member:sub(1, 16) == check.id then
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

weir.read_reservations, weir.concerns, weir.above = read_reservations, concerns, above

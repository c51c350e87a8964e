-- Writes reservations (reservations.lua): holds units at counters, and no longer holds those that were released.

local weir = ...
local ms_until, read_counter, fourth_number, lengthen = weir.ms_until, weir.read_counter, weir.fourth_number, weir.lengthen
local check, hashes = weir.check, weir.hashes
local call, pack, unpack, max = redis.call, struct.pack, struct.unpack, math.max

-- Changes the units that are held at a counter.
local function change(key, name, units, ends)
  local now, now_ms = check.now, check.now_ms
  local value = call('HGET', key, name)
  local expiry_ms, x, y, z, searched_ms = read_counter(value, now_ms)
  local fourth, held, latest = 0, 0, 0
  if x then
    fourth = fourth_number(value) or 0
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
    local expires = max(expiry_ms, now_ms + ms_until(latest, now) + check.grace_ms)
    call('HSET', key, name, pack('<dddddddd', expires, x, y, z, searched_ms, fourth, held, latest))
    lengthen(key, expires, now_ms)
  elseif x == 0 and y == 0 and z == 0 then
    call('HDEL', key, name)
  else
    call('HSET', key, name, pack('<dddddd', expiry_ms, x, y, z, searched_ms, fourth))
  end
end

-- Removes the members that no longer hold units, and adds a reservation of these units at these counters, if there are any.
local function write_reservations(hash)
  local open, key, names, units, ends = hash.open, hash.key, hash.holds, check.amount, check.ends
  for _, member in ipairs(open.removed) do
    call('ZREM', open.key, member)
    for i = 25, #member, 12 do
      change(key, member:sub(i, i + 11), -unpack('<d', member, 17), 0)
    end
  end
  if names then
    call('ZADD', open.key, ends, check.id .. pack('<d', units) .. table.concat(names))
    lengthen(open.key, check.now_ms + ms_until(ends, check.now) + check.grace_ms, check.now_ms)
    for _, name in ipairs(names) do
      change(key, name, units, ends)
    end
  end
end

-- Marks a log at which units are held. The entry of a log without others is older than any window.
local function mark(key, ends)
  local newest = call('LINDEX', key, -1)
  local expires = check.now_ms + ms_until(ends, check.now) + check.grace_ms
  if newest and #newest >= 32 then
    local at, logged, cost, expiry_ms = unpack('<dddd', newest)
    expires = max(expires, expiry_ms - expiry_ms % 1)
    call('LSET', key, -1, pack('<dddd', at, logged, cost, expires + 0.5))
  else
    call('RPUSH', key, pack('<dddd', 0, 0, 0, expires + 0.5))
  end
  call('PEXPIREAT', key, expires)
end

weir.mark_log = mark

-- Lets the reservation of the check hold its units at a counter, too.
function weir.hold(limit, hash)
  hash.holds = hash.holds or {}
  hash.holds[#hash.holds + 1] = limit.holds
  if limit.log then
    mark(limit.log.key, check.ends)
  end
end

-- Writes the reservations of all subjects. Returns the units that the commit released.
function weir.reserve()
  local released = 0
  for h = 1, check.hash_count do
    local hash = hashes[h]
    local open = hash.open
    if open then
      released = max(released, open.units)
      write_reservations(hash)
      if open.found then
        weir.forget_denials(hash)
      end
    end
  end
  return released
end

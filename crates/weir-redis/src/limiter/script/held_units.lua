-- The units that reservations hold at a counter (reservations.lua), as the judge of a check sees them.

local weir = ...
local ms_until, check, limits = weir.ms_until, weir.check, weir.limits
local read_reservations, concerns, above = weir.read_reservations, weir.concerns, weir.above
local call, unpack = redis.call, struct.unpack
local max, min = math.max, math.min

-- From now on, reservations change the answer to the check.
function weir.see_reservations()
  check.sees_reservations = true
  for i = 1, check.limit_count do
    local limit = limits[i]
    limit.held, limit.units = 0, false
  end
end

-- The units that reservations hold at a counter with this value, which is longer than 48 bytes. Returns nil if the key of the
-- reservations holds another type.
function weir.read_held_units(limit, hash, value)
  hash.open = hash.open or read_reservations(hash)
  if not hash.open then
    return nil
  end
  if not check.sees_reservations then
    weir.see_reservations()
  end
  limit.units, limit.units_end = unpack('<dd', value, 49)
  -- After the latest end nothing is held, even if the members were lost.
  limit.held = limit.units_end <= check.now and 0 or max(0, limit.units - (hash.open.freed[hash.names[limit.place]] or 0))
  return limit.held
end

-- The wait in ms of a charge that the held units deny: until enough of them are released, or the counter has room for
-- those that are left.
function weir.wait_beside_held_units(limit, rule)
  local hash, now, cost = rule.hash, check.now, rule.needed
  local open, algorithm = hash.open, limit.algorithm
  if cost > limit.a then
    return FOREVER
  end
  local members = call('ZRANGEBYSCORE', open.key, above(now), now + RESERVED_MAX_US, 'WITHSCORES')
  local best, left, released_ms, names = nil, limit.held, 0, { [hash.names[limit.place]] = true }
  for i = -1, #members, 2 do
    local member, releases = members[i], i < 0
    if member and member ~= open.found and concerns(member, names) then
      left, released_ms, releases = max(0, left - unpack('<d', member, 17)), ms_until(tonumber(members[i + 1]), now), true
    end
    if releases then
      local ms
      if limit.log then
        ms = algorithm.wait(limit.log, cost + left)
      else
        ms = algorithm.judge(now, limit.x, limit.y, limit.z, cost + left, limit.a, limit.b, limit.c, limit.d, limit.e)
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

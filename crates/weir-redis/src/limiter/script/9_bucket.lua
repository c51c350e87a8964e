
-- token_bucket and leaky_bucket: work that drains by per_us / scale units each microsecond. What a
-- token bucket lacks in tokens is its work.
-- State: at_us, level (in 1 / scale of a unit), scale.

local function bucket_ms_to_drain(limit, work)
  if work == 0 then
    return 0
  end
  return div_ceil(work + limit.ahead * limit.b, 1000 * limit.b)
end

local function bucket_read(limit, now, x, y, z)
  local _
  _, limit.at, limit.level = judge_bucket(x, y, z, 0, limit.a, limit.b, limit.c)
  limit.ahead = limit.at - now
end

local function bucket_wait(limit, cost)
  if cost > limit.a then
    return FOREVER
  end
  local over = limit.level - (limit.a - cost) * limit.c
  if over <= 0 then
    return 0
  end
  return bucket_ms_to_drain(limit, over)
end

local function bucket_charge(limit, cost)
  limit.level = limit.level + cost * limit.c
end

local function bucket_refund(limit, cost)
  if limit.kind == 4 then
    limit.level = max(0, limit.level - cost * limit.c)
  end
end

local function bucket_level(limit)
  return show_bucket(limit.a, limit.b, limit.c, limit.at, limit.level)
end

local function bucket_state(limit)
  return limit.at, limit.level, limit.c
end

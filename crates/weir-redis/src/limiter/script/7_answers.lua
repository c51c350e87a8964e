
-- The checks in turn; the reply. Checks of a single limit are most of them, and are decided right here.

local tables, decide_log
for _ = 1, checks do
  local operation, cost, rule_count, hash_count, idempotent, after = unpack('<ddddd', numbers, position)
  local rule, block_ms, limit_count, name, kind, a, b, c = after, 0, 0
  if operation == CONSUME and rule_count == 1 and idempotent == 0 then
    _, block_ms, _, limit_count, name, kind, a, b, c, after = unpack('<ddddc12dddd', numbers, rule)
  end
  if limit_count ~= 1 or block_ms ~= 0 then
    if not tables then
      -- With room for ten limits: making room while they grow takes time.
      tables = {}
      for t = 1, 12 do
        tables[t] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
      end
      for t = 13, 24 do
        tables[t] = {}
      end
    end
    position, next_key, next_arg = decide_any(tables, rule, next_key, next_arg, operation, cost, rule_count, hash_count, idempotent,
      keys, numbers, ARGV, now, now_ms, grace_ms, parts, texts, upto, ms_until, expiry, read_counter, lengthen, remove_dead,
      unreadable, judge, settle, make_logs)
  elseif kind == 2 then
    -- The log's key comes after that of the subject hash, which it does not use. Mostly the cost passes, and the entries
    -- can be read, are not newer than now, and few are dead: then little is needed of what logs are (5).
    local key, answer = keys[next_key + 1]
    position, next_key = after, next_key + 2
    local newest = try('LINDEX', key, -1)
    local at, logged, last_cost, kept_ms, total, dead = 0, 0, 0, 0, 0, 0
    if newest and #newest == 32 then
      at, logged, last_cost, kept_ms = unpack('<dddd', newest)
      total = nil
      if at >= 0 and at + b <= now then
        total, dead = 0, -1
      elseif at >= 0 and at <= now and last_cost >= 0 and logged >= 0 and logged < 4503599627370496 then
        local entry, more = call('LINDEX', key, 0)
        while entry do
          local first_at, first_logged, first_cost = unpack('<ddd', #entry == 32 and entry or newest)
          if first_at + b > now then
            total = (logged - first_logged + first_cost) % 4503599627370496
            break
          end
          more = more or call('LRANGE', key, 1, 4)
          dead = dead + 1
          entry = more[dead]
        end
      end
    elseif newest then
      total = nil
    end
    if total and total + cost <= a then
      local reset_ms = ms_until(now + b, now)
      local expires = expiry(kept_ms, reset_ms)
      if dead < 0 then
        call('DEL', key)
        logged, kept_ms = 0, 0
      end
      if at == now then
        call('LSET', key, -1, pack('<dddd', at, (logged + cost) % 4503599627370496, last_cost + cost, expires))
      else
        call('RPUSH', key, pack('<dddd', now, (logged + cost) % 4503599627370496, cost, expires))
      end
      if dead > 0 then
        call('LTRIM', key, dead, -1)
      end
      if expires ~= kept_ms then
        call('PEXPIREAT', key, expires)
      end
      answer = pack('<ddddd', 1, a - total - cost, reset_ms, 0, 0)
    end
    if not answer then
      decide_log = decide_log or make_logs(now, now_ms, grace_ms, ms_until, expiry)
      answer = decide_log(key, cost, a, b, c)
    end
    if answer then
      parts[#parts + 1] = answer
    else
      unreadable(parts, texts, key)
    end
  else
    local key, d, e = keys[next_key]
    if kind == 7 then
      d, e, after = unpack('<dd', numbers, after)
    end
    position, next_key = after, next_key + 1
    local value = try('HGET', key, name)
    local kept_ms, x, y, z, searched_ms = read_counter(value)
    if value and not kept_ms and type(value) == 'table' then
      unreadable(parts, texts, key)
    else
      local wait, w, pulled, remaining, reset_ms, delay_ms
      wait, x, y, z, w, pulled = judge(kind, x, y, z, cost, a, b, c, d, e)
      local takes = wait == 0
      remaining, reset_ms, delay_ms, x, y, z = settle(kind, takes, cost, x, y, z, w, a, b, c)
      parts[#parts + 1] = pack('<ddddd', takes and 1 or 0, remaining, reset_ms, wait, takes and delay_ms or 0)
      if takes or pulled then
        local expires = expiry(kept_ms, reset_ms)
        local searches, is_new = not searched_ms or now_ms - searched_ms >= SEARCH_EVERY_MS, false
        searched_ms = searches and now_ms or searched_ms
        call('HSET', key, name, kind == 3 and pack(AS_PAIR, expires, x, y, z, searched_ms, b)
          or pack(AS_COUNTER, expires, x, y, z, searched_ms))
        if not kept_ms or kept_ms < expires then
          is_new = lengthen(key, expires)
        elseif expires < kept_ms and call('HLEN', key) == 1 then
          call('PEXPIREAT', key, expires)
        end
        if searches and not is_new and call('HLEN', key) > 1 then
          remove_dead(key, read_counter, now_ms, upto)
        end
      end
    end
  end
end
return { now, table.concat(parts), upto(texts, 1, #texts) }

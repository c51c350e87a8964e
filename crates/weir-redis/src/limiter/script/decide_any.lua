-- Decides any check: judges all limits of all its rules, then charges all of them or none. A subject hash is
-- read with one command and written with one. This is one long function, because many small ones would take longer to
-- make than most checks take. It takes the position after the cost of the check, and returns that of the next check.

local tables, position, next_key, next_arg, operation, cost, keys, numbers, arguments, now, now_ms, grace_ms, parts, texts,
  upto, ms_until, read_counter, lengthen, remove_dead, has_own_key, has_five_parameters, functions_of,
  make_reservations = ...
local call, try, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack
local max, min = math.max, math.min
local SEARCH_EVERY_MS, MOST_AT_ONCE = 1000, 1000

local rule_count, hash_count, idempotent, is_one = 1, 1, 0, operation == CONSUME_ONE
if is_one then
  operation = CONSUME
else
  rule_count, hash_count, idempotent, position = unpack('<ddd', numbers, position)
end
-- Of a REFUND: the time of the charge that it names (0: none), and by limit a bound below the level after it.
local charged_us, charged_levels = 0
if operation == REFUND then
  charged_us, position = unpack('<d', numbers, position)
  charged_levels = {}
end

-- The tables serve one check after another.
-- By limit: the functions of its algorithm, its parameters, and the counter as it was and as it is now.
local algorithms, as, bs, cs, ds, es = tables.algorithms, tables.a, tables.b, tables.c, tables.d, tables.e
local places, expiries, searches, waits = tables.places, tables.expiries, tables.searched, tables.waits
local xs, ys, zs, ws, logs = tables.x, tables.y, tables.z, tables.numbers, tables.logs
-- By rule. Rules that are charged together have the same group: 0, or the rule's number for one that is alone.
local groups, lasts, rule_hashes = tables.groups, tables.lasts, tables.rule_hashes
local block_mss, block_places, blocks, hashes = tables.block_ms, tables.block_places, tables.blocks, tables.hashes
-- By group: whether it passes, and whether a limit denies it.
local passes, denied = tables.passes, tables.denied
-- By rule: whether a check passes while anything is left, and the cost of its own, or false.
local debts, costs = tables.debts, tables.costs
passes[0], denied[0] = true, false
-- By limit: whether a step of the clock left the counter in the future; nil if it left none there.
local pulls
-- A key that holds another type than it should.
local bad_key
-- Of an operation on a reservation or on leases: its id and time. Of a RESERVE, COMMIT or EXHAUST: by limit the name of the
-- counter at which it holds units (false: none).
local id, reserved_time, at_most, held_names
local acquires, of_lease = operation == ACQUIRE, operation == RENEW or operation == RELEASE
if operation >= RESERVE then
  id, reserved_time, at_most, position = unpack('<c16dd', numbers, position)
  if acquires then
    operation = CONSUME
  elseif not of_lease then
    held_names = {}
  end
end
-- By limit at which reservations hold units: the units and their latest end as stored, and the units that are still held.
local stored_units, stored_ends, helds

-- Reads the request: the idempotency record, the hashes, and the rules with their logs.
local record, fingerprint, text, record_ms, known = false
-- The counts of earlier attempts of the same request, which were denied: by rule CHARGED or DENIED, and the id of the
-- leases that the last of them took. By rule the position of its numbers.
local counted, earlier_id, starts_at
if idempotent == 1 then
  record, fingerprint, text, record_ms = keys[next_key], arguments[next_arg], arguments[next_arg + 1], arguments[next_arg + 2]
  next_key, next_arg = next_key + 1, next_arg + 3
  known, starts_at = try('HMGET', record, 'fingerprint', 'text', 'numbers', 'at', 'denied'), {}
  local attempts, length = known[5], #fingerprint + 1
  if attempts and not known[1] and attempts:sub(1, length) == fingerprint .. '\0' then
    counted, earlier_id = {}, attempts:sub(length + 1, length + 16)
    for i = length + 17, #attempts, 11 do
      counted[attempts:sub(i, i + 9)] = attempts:byte(i + 10)
    end
  end
end
for h = 1, hash_count do
  local hash = hashes[h]
  if not hash then
    hash = { key = false, count = 0, changed = 0, lost = 0, longest = 0, lengthens = false, shortens = false,
      searches = false, names = {}, states = false, changes = {}, gone = {}, open = false, holds = false }
    hashes[h] = hash
  end
  hash.key, hash.count, hash.changed, hash.lost = keys[next_key], 0, 0, 0
  hash.longest, hash.lengthens, hash.shortens, hash.searches = 0, false, false, false
  hash.open, hash.holds = false, false
  next_key = next_key + 1
end
if held_names then
  -- The keys of the reservations, whose names follow from those of the hashes.
  next_key = next_key + hash_count
elseif of_lease then
  next_key = next_key + 1
end
local count = 0
for r = 1, rule_count do
  if record then
    starts_at[r] = position
  end
  local group, block_ms, h, limit_count, name, kind, a, b, c, after = 0, 0, 1, 1
  if is_one then
    name, kind, a, b, c, after = unpack('<c12dddd', numbers, position)
  else
    group, block_ms, h, limit_count, name, kind, a, b, c, after = unpack('<ddddc12dddd', numbers, position)
  end
  local hash = hashes[h]
  local has_own_cost = group > 3
  if has_own_cost then
    group = group - 4
  end
  debts[r] = group > 1
  if group > 1 then
    group = group - 2
  end
  groups[r], rule_hashes[r], block_mss[r] = group == 0 and 0 or r, hash, block_ms
  if group ~= 0 then
    passes[r], denied[r] = true, false
  end
  local place, names = hash.count, hash.names
  if block_ms > 0 then
    -- The counter of the block has the rule's part of the name, and the greatest slot.
    place = place + 1
    names[place], block_places[r] = name:sub(1, 10) .. '\255\255', place
  end
  for l = 1, limit_count do
    if l > 1 then
      name, kind, a, b, c, after = unpack('<c12dddd', numbers, after)
    end
    count = count + 1
    algorithms[count], as[count], bs[count], cs[count], logs[count] = functions_of(kind), a, b, c, false
    if has_five_parameters[kind] then
      ds[count], es[count], after = unpack('<dd', numbers, after)
    end
    if charged_levels and charged_us > 0 then
      charged_levels[count], after = unpack('<d', numbers, after)
    end
    if has_own_key[kind] then
      local key = keys[next_key]
      next_key = next_key + 1
      logs[count] = algorithms[count][1](key, now, now_ms, grace_ms, a, b, c, operation == COMMIT and id or earlier_id)
      places[count] = false
      if not logs[count] then
        bad_key = key
      elseif logs[count].marked then
        place = place + 1
        names[place], places[count] = name, place
      end
    else
      place = place + 1
      names[place], places[count] = name, place
    end
    if held_names then
      held_names[count] = kind ~= SPACING and kind ~= CONCURRENCY and name
    end
  end
  costs[r] = false
  if has_own_cost then
    costs[r], after = unpack('<d', numbers, after)
  end
  hash.count, lasts[r], position = place, count, after
end

-- Answers as the first time, if the request was answered before under its idempotency key. A damaged record counts as
-- none.
if record then
  local first, answer, at = known[1], known[3], known[4]
  if known.err then
    bad_key = record
  elseif first and known[2] and answer and #answer >= 8 and #answer % 8 == 0 then
    if first ~= fingerprint then
      parts[#parts + 1] = pack('<d', 3)
    else
      -- Earlier releases recorded no time.
      parts[#parts + 1] = pack('<ddd', 2, at and #at == 8 and unpack('<d', at) or 0, #answer / 8)
      parts[#parts + 1] = answer
      texts[#texts + 1] = known[2]
    end
    return position, next_key, next_arg
  end
end

-- Renews or releases a lease (concurrency.lua): no rule takes part.
if of_lease then
  local key, member = keys[next_key - 1], id .. pack('<d', reserved_time)
  local ends = try('ZSCORE', key, member)
  if type(ends) == 'table' and ends.err then
    parts[#parts + 1], texts[#texts + 1] = pack('<d', 5), key
    return position, next_key, next_arg
  elseif not ends or tonumber(ends) <= now then
    parts[#parts + 1] = pack('<d', 6)
    return position, next_key, next_arg
  elseif operation == RENEW then
    call('ZADD', key, string.format('%.0f', now + reserved_time), member)
    lengthen(key, now_ms + ms_until(now + reserved_time, now) + grace_ms, now_ms)
  else
    call('ZREM', key, member)
  end
  local answer = pack('<ddddd', SETTLED, 0, now, 0, 0)
  parts[#parts + 1] = answer
  if record then
    call('HSET', record, 'fingerprint', fingerprint, 'text', text, 'numbers', answer, 'at', pack('<d', now))
    call('PEXPIRE', record, record_ms)
  end
  return position, next_key, next_arg
end

-- The counters.
for h = 1, hash_count do
  local hash = hashes[h]
  for first = 1, hash.count, MOST_AT_ONCE do
    local last = min(first + MOST_AT_ONCE - 1, hash.count)
    local states = try('HMGET', hash.key, upto(hash.names, first, last))
    if states.err then
      bad_key = hash.key
    elseif first == 1 then
      hash.states = states
    else
      for i = first, last do
        hash.states[i] = states[i - first + 1]
      end
    end
  end
end
if bad_key then
  parts[#parts + 1], texts[#texts + 1] = pack('<d', 5), bad_key
  return position, next_key, next_arg
end

-- The reservations of these subjects.
local reservations = tables.reservations
if held_names then
  if not reservations[1] then
    reservations[1], reservations[2], reservations[3], reservations[4] =
      make_reservations(ms_until, read_counter, lengthen)
  end
  local found = operation ~= COMMIT
  for h = 1, hash_count do
    local open = reservations[1](hashes[h], now, operation, id, reserved_time)
    if not open then
      parts[#parts + 1], texts[#texts + 1] = pack('<d', 5), hashes[h].key
      return position, next_key, next_arg
    end
    hashes[h].open, found = open, found or open.found
  end
  if not found then
    parts[#parts + 1] = pack('<d', 6)
    return position, next_key, next_arg
  end
end

-- Judges.
local first = 1
-- The units that can be reserved.
local amount = cost
for r = 1, rule_count do
  local hash, passing, pulled = rule_hashes[r], true
  local states, needed = hash.states, costs[r] or cost
  if debts[r] or at_most == 1 or costs[r] == 0 then
    needed = costs[r] == 0 and 1 or min(needed, 1)
  end
  for i = first, lasts[r] do
    local log, place, held, wait = logs[i], places[i], 0
    local value = place and states[place]
    local expiry_ms, x, y, z, searched_ms
    if value then
      expiry_ms, x, y, z, searched_ms = read_counter(value, now_ms)
      if x and #value > 48 then
        if not hash.open then
          if not reservations[1] then
            reservations[1], reservations[2], reservations[3], reservations[4] =
              make_reservations(ms_until, read_counter, lengthen)
          end
          hash.open = reservations[1](hash, now, operation)
          if not hash.open then
            parts[#parts + 1], texts[#texts + 1] = pack('<d', 5), hash.key
            return position, next_key, next_arg
          end
        end
        if not helds then
          stored_units, stored_ends, helds = {}, {}, {}
        end
        stored_units[i], stored_ends[i] = unpack('<dd', value, 49)
        -- After the latest end nothing is held, even if the members were lost.
        held = stored_ends[i] <= now and 0 or max(0, stored_units[i] - (hash.open.freed[hash.names[place]] or 0))
        helds[i] = held
      end
    end
    if log then
      wait = algorithms[i][2](log, needed + held)
    else
      expiries[i], searches[i] = expiry_ms, searched_ms
      wait, xs[i], ys[i], zs[i], ws[i], pulled =
        algorithms[i][1](now, x, y, z, needed + held, as[i], bs[i], cs[i], ds[i], es[i], value)
      if pulled then
        pulls = pulls or {}
        pulls[i] = true
      end
    end
    if wait ~= 0 then
      passing = false
      if held > 0 then
        wait = reservations[2](hash.open, hash.names[place], held, now, needed, algorithms[i][log and 2 or 1], log, xs[i],
          ys[i], zs[i], as[i], bs[i], cs[i], ds[i], es[i])
      end
    elseif at_most == 1 and groups[r] == 0 and not debts[r] and held_names[i] then
      -- The rest bounds what can be reserved.
      local left = log and log.a - log.total
        or (algorithms[i][2](now, false, cost, xs[i], ys[i], zs[i], ws[i], as[i], bs[i], cs[i]))
      amount = min(amount, left - held)
    end
    waits[i] = wait
  end
  local group, block_ms = groups[r], block_mss[r]
  if not passing then
    passes[group], denied[group] = false, true
  end
  if block_ms > 0 then
    -- The rest of the block in µs. A step of the clock, or an edit of the rule, can have left it longer than the
    -- rule says: then it begins again.
    local _, until_us = read_counter(states[block_places[r]], now_ms)
    local left = until_us and until_us - now or 0
    blocks[r] = left > 0 and left or 0
    if left > 0 then
      passes[group] = false
    end
  end
  if hash.open and hash.open.full_ms > 0 then
    passes[group] = false
  end
  first = lasts[r] + 1
end
if operation == EXHAUST then
  amount = EXHAUSTED_UNITS
elseif operation == RESERVE and not passes[0] then
  amount = 0
end

-- Charges, refunds or denies, and answers.
local first_part = #parts + 1
local charges = operation == CONSUME or operation == PEEK or operation == RESERVE
-- A denial is decided anew when it is repeated. Its record has only what it counted.
local is_denial, marks = charges and not passes[0], ''
local writes = operation ~= PEEK and operation ~= INSPECT
local ends = (operation == RESERVE or operation == EXHAUST) and now + reserved_time * 1000 or 0
local with_reservations = helds or held_names
if rule_count == 0 and not held_names then
  parts[first_part] = pack('<d', 4)
end
first = 1
for r = 1, rule_count do
  local last, group, block_ms, hash = lasts[r], groups[r], block_mss[r], rule_hashes[r]
  local own = costs[r] or cost
  -- A rule with a cost of 0 of its own only looks.
  local acts = charges and costs[r] ~= 0
  -- Where the enforced rules deny, nothing is reserved at a rule alone either.
  local exhausts = operation == EXHAUST and group == 0 and hash.open.full_ms == 0
  local admits = acts and passes[group] and (not held_names or passes[0])
  local denies, refunds = acts and not admits, operation == REFUND and group == 0
  local rule, before, mark
  if record and is_denial or counted then
    rule = numbers:sub(starts_at[r] + 32, starts_at[r] + 41)
    before = counted and counted[rule]
    mark = admits and CHARGED or before
  end
  -- A repeat counts nothing that an earlier attempt counted; an admission charges all enforced rules.
  local charges_now, counts_denial = admits and (group == 0 or before ~= CHARGED), denies and not before
  local all_records = (operation == RECORD or operation == COMMIT) and own > 0
  local needed, has_debt = own, false
  if debts[r] or at_most == 1 or costs[r] == 0 then
    needed = costs[r] == 0 and 1 or min(own, 1)
  end
  local blocked_ms, restarts, starts = 0, false, false
  if block_ms > 0 then
    restarts = blocks[r] > block_ms * 1000 + SLACK_US
    blocked_ms = restarts and block_ms or ms_until(now + blocks[r], now)
    if counts_denial and blocked_ms == 0 then
      for i = first, last do
        starts = starts or waits[i] > 0
      end
    end
  end
  if hash.open and hash.open.full_ms > blocked_ms then
    blocked_ms = hash.open.full_ms
  end
  if refunds then
    -- Gates cache denials of a subject; its digest ends the key of its hash.
    call('PUBLISH', 'weir:signal:forget', hash.key:sub(-32))
  end
  for i = first, last do
    local log, algorithm, wait, a, b, c = logs[i], algorithms[i], waits[i], as[i], bs[i], cs[i]
    local delay_ms, held, takes, records, returned, units, remaining, reset_ms = 0, 0, charges_now, all_records, false
    if with_reservations then
      held, units = helds and helds[i] or 0, stored_units and stored_units[i]
      if held_names then
        -- A spacing is charged when it is reserved, all others when it is committed.
        takes, records = charges_now and not held_names[i], all_records and held_names[i]
      end
    end
    if log then
      local wait_beside = held > 0 and function()
        return reservations[2](hash.open, hash.names[places[i]], held, now, needed, algorithm[2], log, 0, 0, 0, a)
      end
      -- A lease that an earlier attempt took has ended, so another one is taken.
      takes = takes or admits and log.lease_us
      wait, remaining, reset_ms, returned = algorithm[3](log, own, needed + held, takes, counts_denial and denied[group],
        refunds, records, writes, wait_beside, id, charged_us)
      if counts_denial and denied[group] and log.c == 1 then
        mark = mark or DENIED
      end
      if admits then
        wait = 0
      end
      if writes and held > 0 then
        reservations[4](log.key, stored_ends[i], now, now_ms, grace_ms)
      end
    else
      local x, y, z, w, pulled = xs[i], ys[i], zs[i], ws[i], pulls and pulls[i]
      local changes = takes or pulled
      local refund, fourth = refunds and algorithm[3]
      if refund then
        local value = hash.states[places[i]]
        local _, stored_x, _, stored_z = read_counter(value, now_ms)
        if stored_x then
          local stored_fourth = #value >= 48 and unpack('<d', value, 41) or nil
          local at, rest, third = refund(x, y, z, w, own, pulled, stored_x, stored_z, stored_fourth, charged_us,
            charged_levels[i], now, a, b, c)
          if at then
            changes, returned, x, y, z = true, true, at, rest, third
          end
          wait = algorithm[1](now, x, y, z, needed + held, a, b, c, ds[i], es[i])
        end
      end
      if records then
        changes, x, y, z = true, select(4, algorithm[2](now, true, own, x, y, z, w, a, b, c))
        wait, x, y, z, w = algorithm[1](now, x, y, z, needed + held, a, b, c, ds[i], es[i])
      end
      if held > 0 and wait ~= 0 and (refund or records) then
        wait = reservations[2](hash.open, hash.names[places[i]], held, now, needed, algorithm[1], nil, x, y, z, a, b, c,
          ds[i], es[i])
      end
      remaining, reset_ms, delay_ms, x, y, z, fourth = algorithm[2](now, takes, own, x, y, z, w, a, b, c)
      if writes and changes then
        local name, rest_ms = hash.names[places[i]], reset_ms
        if fourth and not (takes or records or returned) then
          -- Only the time was pulled back: the units are of the window in which they were taken.
          local value = hash.states[places[i]]
          fourth = value and #value >= 48 and unpack('<d', value, 41) or nil
        end
        if units then
          rest_ms = max(reset_ms, ms_until(stored_ends[i], now))
        end
        if rest_ms == 0 then
          -- The counter is as if never used.
          hash.lost = hash.lost + 1
          hash.gone[hash.lost] = name
        else
          if reset_ms == 0 then
            -- The counter is as if never used; the field stays for the held units.
            x, y, z, fourth = 0, 0, 0, nil
          end
          local expiry_ms, searched_ms, changed = expiries[i], searches[i], hash.changed
          local needed_ms = now_ms + rest_ms
          local expires = needed_ms + grace_ms
          if expiry_ms and needed_ms < expiry_ms and expiry_ms <= expires then
            expires = expiry_ms
          elseif not expiry_ms or expiry_ms < expires then
            hash.lengthens = true
          else
            hash.shortens = true
          end
          if expires > hash.longest then
            hash.longest = expires
          end
          if not searched_ms or now_ms - searched_ms >= SEARCH_EVERY_MS then
            searched_ms, hash.searches = now_ms, true
          end
          hash.changes[changed + 1] = name
          hash.changes[changed + 2] = units
            and pack('<dddddddd', expires, x, y, z, searched_ms, fourth or 0, units, stored_ends[i])
            or fourth and pack('<dddddd', expires, x, y, z, searched_ms, fourth)
            or pack('<ddddd', expires, x, y, z, searched_ms)
          hash.changed = changed + 2
        end
      end
    end
    if with_reservations then
      if (operation == EXHAUST and exhausts or operation == RESERVE and admits) and held_names[i] then
        held = held + amount
        hash.holds = hash.holds or {}
        hash.holds[#hash.holds + 1] = held_names[i]
        if log then
          reservations[4](log.key, ends, now, now_ms, grace_ms)
        end
      end
      remaining = max(0, remaining - held)
    end
    if exhausts and held_names[i] then
      wait = wait ~= FOREVER and max(wait, reserved_time) or FOREVER
      waits[i] = wait
    end
    local allowed = ((refunds or records) and wait or waits[i]) == 0 and blocked_ms == 0
    has_debt = has_debt or (records and wait ~= 0)
    if starts and wait > 0 then
      wait = max(wait, block_ms)
    elseif wait >= 0 and wait < blocked_ms then
      wait = blocked_ms
    end
    if operation == REFUND then
      delay_ms = returned and 1 or 0
    elseif not allowed or denies then
      delay_ms = 0
    end
    parts[#parts + 1] = pack('<ddddd', allowed and 1 or 0, remaining, reset_ms, wait, delay_ms)
  end
  if has_debt then
    -- Gates cache denials, which can last longer now.
    call('PUBLISH', 'weir:signal:forget', hash.key:sub(-32))
  end
  if rule and is_denial then
    mark = mark or starts and DENIED
    marks = mark and marks .. rule .. string.char(mark) or marks
  end
  if writes and (starts or restarts) then
    local changed, expires = hash.changed, now_ms + block_ms + grace_ms
    hash.changes[changed + 1] = hash.names[block_places[r]]
    hash.changes[changed + 2] = pack('<ddddd', expires, now + block_ms * 1000, 0, 0, now_ms)
    hash.changed, hash.longest, hash.lengthens = changed + 2, max(hash.longest, expires), true
  end
  first = last + 1
end

-- Writes.
for h = 1, hash_count do
  local hash = hashes[h]
  local key, is_new = hash.key, false
  for from = 1, hash.lost, MOST_AT_ONCE do
    call('HDEL', key, upto(hash.gone, from, min(from + MOST_AT_ONCE - 1, hash.lost)))
  end
  for from = 1, hash.changed, MOST_AT_ONCE do
    call('HSET', key, upto(hash.changes, from, min(from + MOST_AT_ONCE - 1, hash.changed)))
  end
  if hash.lengthens then
    is_new = lengthen(key, hash.longest, now_ms)
  elseif hash.shortens and call('HLEN', key) * 2 == hash.changed then
    call('PEXPIREAT', key, hash.longest)
  end
  if hash.searches and not is_new and call('HLEN', key) * 2 > hash.changed then
    remove_dead(key, read_counter, now_ms, upto)
  end
end
local released = 0
for h = 1, with_reservations and writes and hash_count or 0 do
  local hash = hashes[h]
  local open = hash.open
  if open then
    released = max(released, open.units)
    reservations[3](open, hash.key, hash.holds, id, amount, ends, now, now_ms, grace_ms)
    if open.found then
      -- Gates cache denials of a subject.
      call('PUBLISH', 'weir:signal:forget', hash.key:sub(-32))
    end
  end
end
if operation == RESERVE or operation == EXHAUST then
  parts[#parts + 1] = pack('<ddddd', SETTLED, amount, ends, 0, 0)
elseif operation == COMMIT then
  parts[#parts + 1] = pack('<ddddd', SETTLED, released, cost, 0, 0)
elseif acquires then
  parts[#parts + 1] = pack('<ddddd', SETTLED, 0, now, 0, 0)
end
if not record or record_ms == '0' then
  return position, next_key, next_arg
elseif not is_denial then
  call('HSET', record, 'fingerprint', fingerprint, 'text', text, 'numbers', table.concat(parts, '', first_part), 'at',
    pack('<d', now))
  call('PEXPIRE', record, record_ms)
elseif marks ~= '' then
  call('HSET', record, 'denied', fingerprint .. '\0' .. (acquires and id or ('\0'):rep(16)) .. marks)
  call('PEXPIRE', record, record_ms)
end
return position, next_key, next_arg

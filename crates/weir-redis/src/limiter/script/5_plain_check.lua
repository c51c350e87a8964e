
-- Checks of any number of such limits: the same steps as for any other check, without a table for each limit,
-- and with one command to read a sheet and one to write it. Judging and charging a limit stand here as they do in
-- 4_single_check.lua: as functions for both they cost a check 3 to 6 % more.

-- By limit, used again by one check after another.
local kinds, as, bs, cs, ds, es, owners = {}, {}, {}, {}, {}, {}, {}
local waits, kepts, stamps, units, stops, sheet_of, places = {}, {}, {}, {}, {}, {}, {}
-- Whether rules pass: 0 for all enforced ones together, else by the number of the rule.
local passes = {}
-- By sheet: the names of its limits, their states, and what changes.
local sheets = {}
-- A command takes only so many arguments from a list.
local MOST_AT_ONCE = 1000

local function begin_sheets(count)
  for s = 1, count do
    local sheet = sheets[s]
    if not sheet then
      sheet = { key = false, count = 0, names = {}, states = {}, changed = 0, changes = {}, until_ms = 0 }
      sheets[s] = sheet
    end
    sheet.key, sheet.count, sheet.changed, sheet.until_ms = keys[next_key + s - 1], 0, 0, 0
  end
end

-- Reads what is asked: how many limits, and the position after them; or nothing, if one is not such a limit.
local function read_limits(from, rule_count)
  local count = 0
  passes[0] = true
  for rule = 1, rule_count do
    local group, block_ms, s, limit_count, name, kind, a, b, c, after = unpack(AS_RULE, numbers, from)
    local owner, sheet = group == 0 and 0 or rule, sheets[s]
    if group ~= 0 then
      passes[rule] = true
    end
    for l = 1, limit_count do
      if l > 1 then
        name, kind, a, b, c, after = unpack(AS_LIMIT, numbers, after)
      end
      if block_ms ~= 0 or not PLAIN[kind] then
        return nil
      end
      count = count + 1
      if kind == 7 then
        ds[count], es[count], after = unpack('<dd', numbers, after)
      end
      kinds[count], as[count], bs[count], cs[count], owners[count] = kind, a, b, c, owner
      local place = sheet.count + 1
      sheet.count, sheet.names[place] = place, name
      sheet_of[count], places[count] = sheet, place
    end
    from = after
  end
  return count, from
end

local function read_sheets(count)
  for s = 1, count do
    local sheet = sheets[s]
    if sheet.count <= MOST_AT_ONCE then
      sheet.states = call('HMGET', sheet.key, upto(sheet.names, 1, sheet.count))
    else
      for i = 1, sheet.count do
        sheet.states[i] = call('HGET', sheet.key, sheet.names[i])
      end
    end
  end
end

local function judge_all(count, cost)
  for i = 1, count do
    local kind, wait = kinds[i]
    local kept_ms, x, y, z = read_counter(sheet_of[i].states[places[i]])
    if kind == 4 or kind == 5 then
      wait, stamps[i], units[i] = judge_bucket(x, y, z, cost, as[i], bs[i], cs[i])
    else
      wait, stamps[i], units[i], stops[i] = judge_window(x, y, cost, as[i], kind, bs[i], cs[i], ds[i], es[i])
    end
    waits[i], kepts[i] = wait, kept_ms
    if wait ~= 0 then
      passes[owners[i]] = false
    end
  end
end

-- What is to be written of a counter.
local function change(sheet, place, kept_ms, reset_ms, x, y, z)
  local expires, changed = expiry(kept_ms, reset_ms), sheet.changed
  if not kept_ms or kept_ms < expires then
    sheet.until_ms = max(sheet.until_ms, expires)
  end
  sheet.changes[changed + 1] = sheet.names[place]
  sheet.changes[changed + 2] = pack(AS_COUNTER, expires, x, y, z)
  sheet.changed = changed + 2
end

local function charge_all(count, cost)
  local said = #parts
  for i = 1, count do
    local kind, takes, x, y, z = kinds[i], passes[owners[i]], stamps[i], units[i], 0
    local remaining, reset_ms, delay_ms = 0, 0, 0
    if kind == 4 or kind == 5 then
      z = cs[i]
      if takes then
        remaining, reset_ms, delay_ms, y = charge_bucket(cost, kind == 5, as[i], bs[i], z, x, y)
      else
        remaining, reset_ms = show_bucket(as[i], bs[i], z, x, y)
      end
    else
      if takes then
        y = y + cost
      end
      remaining, reset_ms = max(0, as[i] - y), y > 0 and ms_until(stops[i], now) or 0
    end
    if takes then
      change(sheet_of[i], places[i], kepts[i], reset_ms, x, y, z)
    end
    parts[said + i] = pack('<ddddd', waits[i] == 0 and 1 or 0, remaining, reset_ms, waits[i], delay_ms)
  end
end

local function write_sheets(count)
  for s = 1, count do
    local sheet, added = sheets[s], 0
    for first = 1, sheet.changed, MOST_AT_ONCE do
      local last = min(first + MOST_AT_ONCE - 1, sheet.changed)
      added = added + call('HSET', sheet.key, upto(sheet.changes, first, last))
    end
    if sheet.until_ms > 0 then
      lengthen(sheet.key, sheet.until_ms, added)
    end
  end
end

-- Decides a consume of so many rules if all their limits are such, and then gives the position after it.
local function plain_check(from, rule_count, cost, sheet_count)
  begin_sheets(sheet_count)
  local count, after = read_limits(from, rule_count)
  if not count then
    return nil
  end
  next_key = next_key + sheet_count
  read_sheets(sheet_count)
  judge_all(count, cost)
  charge_all(count, cost)
  write_sheets(sheet_count)
  return after
end

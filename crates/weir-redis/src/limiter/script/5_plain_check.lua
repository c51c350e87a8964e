
-- Checks of any number of such limits: the same steps as for any other check, without a table for each limit.

-- By limit, used again by one check after another.
local sheet_of, places, names, kinds, as, bs, cs = {}, {}, {}, {}, {}, {}, {}
local stops, owners, waits, stamps, units = {}, {}, {}, {}, {}
-- Whether rules pass: 0 for all enforced ones together, else by the number of the rule.
local passes = {}

-- Reads and judges all limits: how many there are, and the position after them; or nothing, if one is not plain.
local function judge_all(from, rule_count, cost)
  local count = 0
  passes[0] = true
  for rule = 1, rule_count do
    local group, block_ms, s, limit_count, name, kind, a, b, c, after = unpack(AS_RULE, numbers, from)
    local owner = group == 0 and 0 or rule
    if group ~= 0 then
      passes[rule] = true
    end
    for l = 1, limit_count do
      local d, e, wait, place, x, y, z
      if l > 1 then
        name, kind, a, b, c, after = unpack(AS_LIMIT, numbers, after)
      end
      if kind == 7 then
        d, e, after = unpack('<dd', numbers, after)
      end
      if block_ms ~= 0 or not PLAIN[kind] then
        return nil
      end
      count = count + 1
      place, x, y, z = look_up(s, name)
      if kind == 4 or kind == 5 then
        wait, x, y = judge_bucket(x, y, z, cost, a, b, c)
        bs[count], cs[count] = b, c
      else
        wait, x, y, stops[count] = judge_window(x, y, cost, a, kind, b, c, d, e)
      end
      if wait ~= 0 then
        passes[owner] = false
      end
      sheet_of[count], places[count], names[count] = s, place, name
      kinds[count], as[count], owners[count] = kind, a, owner
      waits[count], stamps[count], units[count] = wait, x, y
    end
    from = after
  end
  return count, from
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
      enter(sheet_of[i], places[i], names[i], reset_ms, x, y, z)
    end
    parts[said + i] = pack('<ddddd', waits[i] == 0 and 1 or 0, remaining, reset_ms, waits[i], delay_ms)
  end
end

-- Decides a consume of so many rules if all their limits are such, and then gives the position after it. Its sheet
-- may have been read, if it has one.
local function plain_check(from, rule_count, cost, sheet_count, sheet)
  open_sheets(sheet_count, sheet)
  local count, after = judge_all(from, rule_count, cost)
  if not count then
    next_key = first_sheet
    return nil
  end
  charge_all(count, cost)
  save_sheets()
  return after
end

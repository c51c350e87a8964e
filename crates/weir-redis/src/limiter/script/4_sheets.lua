
-- Sheets: the counters of a subject lie together in one value, so that a check of many limits reads
-- one key and writes one. Logs and blocks have keys of their own.
-- Value: when the key expires (in ms of Redis' own clock), then the entries; or, of 44 bytes, which Redis holds
-- in one piece, a single entry, whose expiry is the key's.
-- Entry: when it expires; the name of the counter, 12 bytes; and three numbers of its algorithm's own.
-- An entry that expired is as if it were not there; it goes when another comes.

-- The sheets of the check at hand: their values, or false; where the next entry is expected, since entries lie
-- in the order in which checks first met them; and what is to change.
local first_sheet, sheet_count
local sheets, expected, changes = {}, {}, {}

local function first_place(sheet)
  return #sheet % ENTRY + 1
end

-- Reads so many sheets, the next keys; the first may be known.
local function open_sheets(count, known)
  first_sheet, sheet_count = next_key, count
  next_key = next_key + count
  if count == 1 then
    sheets[1] = known or call('GET', keys[first_sheet])
  elseif count > 1 then
    sheets = call('MGET', upto(keys, first_sheet, next_key - 1))
  end
  for s = 1, count do
    local change = changes[s]
    if not change then
      change = { count = 0, needed_ms = 0, places = {}, entries = {} }
      changes[s] = change
    end
    expected[s], change.count, change.needed_ms = sheets[s] and first_place(sheets[s]), 0, 0
  end
end

local function search(sheet, name)
  local from = 9
  while true do
    local at = sheet:find(name, from, true)
    if not at or (at - 8 - first_place(sheet)) % ENTRY == 0 then
      return at and at - 8
    end
    from = at + 1
  end
end

-- The place of an entry, if it has one; then its three numbers, unless it expired.
local function look_up(s, name)
  local sheet, place = sheets[s], expected[s]
  if not sheet then
    return nil
  end
  local expires, found, x, y, z
  if place < #sheet then
    expires, found, x, y, z = unpack(AS_ENTRY, sheet, place)
  end
  if found ~= name then
    place = search(sheet, name)
    if not place then
      return nil
    end
    expires, found, x, y, z = unpack(AS_ENTRY, sheet, place)
  end
  expected[s] = place + ENTRY
  if expires <= now_ms then
    return place
  end
  return place, x, y, z
end

-- Puts an entry at a place, or at the end if it has none.
local function enter(s, place, name, reset_ms, x, y, z)
  local change, needed_ms = changes[s], now_ms + reset_ms
  local count = change.count + 1
  change.count, change.places[count] = count, place or false
  change.entries[count] = pack(AS_ENTRY, needed_ms + grace_ms, name, x, y, z)
  change.needed_ms = max(change.needed_ms, needed_ms)
end

-- Takes the entry away that is at a place, if there is one.
local function strike(s, place)
  if place then
    local change = changes[s]
    local count = change.count + 1
    change.count, change.places[count], change.entries[count] = count, place, ''
  end
end

-- The entries of a sheet with some of them changed in place; those come in order.
local function changed_in_place(sheet, places, entries, count)
  local pieces, from = {}, first_place(sheet)
  for i = 1, count do
    pieces[2 * i - 1] = sheet:sub(from, places[i] - 1)
    pieces[2 * i] = entries[i]
    from = places[i] + ENTRY
  end
  pieces[2 * count + 1] = sheet:sub(from)
  return table.concat(pieces)
end

-- The entries of a sheet that did not expire, then those that change; and whether there are any of the former.
local function kept_and_changed(sheet, places, entries, count)
  local pieces, changed = {}, {}
  for i = 1, count do
    if places[i] then
      changed[places[i]] = true
    end
  end
  for place = first_place(sheet), #sheet, ENTRY do
    if not changed[place] and unpack('<d', sheet, place) > now_ms then
      pieces[#pieces + 1] = sheet:sub(place, place + ENTRY - 1)
    end
  end
  local kept = #pieces > 0
  pieces[#pieces + 1] = table.concat(entries, '', 1, count)
  return table.concat(pieces), kept
end

-- Writes a key that is needed so long. One that expires later than that by no more than grace_ms, or that
-- others need too, keeps its expiry: that halves the price of a SET.
local function put(key, kept_ms, needed_ms, others, body)
  local keeps = kept_ms and needed_ms < kept_ms and (others or kept_ms <= needed_ms + grace_ms)
  local until_ms = keeps and kept_ms or needed_ms + grace_ms
  local value = pack('<d', until_ms) .. (#body == ENTRY and not others and body:sub(9) or body)
  if keeps then
    call('SET', key, value, 'KEEPTTL')
  else
    call('SET', key, value, 'PXAT', until_ms)
  end
end

local function save(s)
  local change, sheet, key = changes[s], sheets[s], keys[first_sheet + s - 1]
  local count, places, entries = change.count, change.places, change.entries
  if count == 0 then
    return
  end
  local held, replaced, last, in_order = sheet and floor(#sheet / ENTRY) or 0, 0, 0, true
  for i = 1, count do
    local place = places[i]
    in_order = in_order and place and place > last
    if place then
      replaced, last = replaced + 1, place
    end
  end
  local body, others
  if replaced == held then
    body, others = table.concat(entries, '', 1, count), false
  elseif in_order then
    body, others = changed_in_place(sheet, places, entries, count), true
  else
    body, others = kept_and_changed(sheet, places, entries, count)
  end
  if body == '' then
    call('DEL', key)
  else
    put(key, sheet and unpack('<d', sheet), change.needed_ms, others, body)
  end
end

local function save_sheets()
  for s = 1, sheet_count do
    save(s)
  end
end

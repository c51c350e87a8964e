#!lua
-- Forgets counters, as if they had never been used.
--
-- KEYS: sheets; then logs and blocks.
-- ARGV[1]: numbers as little-endian doubles: how many sheets; for each of them how many counters, and
--   their names (see 3_sheets.lua).
-- Reply: how many of them there were.

local numbers, unpack, call = ARGV[1], struct.unpack, redis.call
local ENTRY, NAME = 44, 12
local time = call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local sheets, position = unpack('<d', numbers)
local forgotten = 0

for s = 1, sheets do
  local count
  count, position = unpack('<d', numbers, position)
  local named = {}
  for _ = 1, count do
    named[numbers:sub(position, position + NAME - 1)] = true
    position = position + NAME
  end
  local sheet = call('GET', KEYS[s]) or ''
  -- Its expiry, which stays even if a single entry is left.
  local kept, struck = { sheet:sub(1, 8) }, false
  for place = #sheet % ENTRY + 1, #sheet, ENTRY do
    if not named[sheet:sub(place + 8, place + 7 + NAME)] then
      kept[#kept + 1] = sheet:sub(place, place + ENTRY - 1)
    else
      struck = true
      if unpack('<d', sheet, place) > now_ms then
        forgotten = forgotten + 1
      end
    end
  end
  if struck and #kept == 1 then
    call('DEL', KEYS[s])
  elseif struck then
    call('SET', KEYS[s], table.concat(kept), 'KEEPTTL')
  end
end
for k = sheets + 1, #KEYS do
  forgotten = forgotten + call('UNLINK', KEYS[k])
end
return forgotten

-- Reads and writes the subject hashes of a check, each with one command unless it has very many counters.

local weir = ...
local check, hashes, lengthen, remove_dead = weir.check, weir.hashes, weir.lengthen, weir.remove_dead
local call, try, upto, min = redis.call, redis.pcall, unpack, math.min
local MOST_AT_ONCE = 1000

-- Calls a command with very many arguments in parts.
local function call_in_parts(command, key, arguments, count)
  for from = 1, count, MOST_AT_ONCE do
    call(command, key, upto(arguments, from, min(from + MOST_AT_ONCE - 1, count)))
  end
end

-- Reads more counters of a hash than one command takes.
local function read_in_parts(hash)
  local values = {}
  for first = 1, hash.count, MOST_AT_ONCE do
    local part = try('HMGET', hash.key, upto(hash.names, first, min(first + MOST_AT_ONCE - 1, hash.count)))
    if part.err then
      return part
    end
    for i = 1, #part do
      values[first + i - 1] = part[i]
    end
  end
  return values
end

-- Reads the counters in subject hashes.
function weir.read_counters()
  for h = 1, check.hash_count do
    local hash = hashes[h]
    local count = hash.count
    if count > 0 then
      local values = count <= MOST_AT_ONCE and try('HMGET', hash.key, upto(hash.names, 1, count)) or read_in_parts(hash)
      hash.values = values
      if values.err then
        check.bad_key = hash.key
      end
    end
  end
end

-- Writes the noted changes.
function weir.write_hashes()
  for h = 1, check.hash_count do
    local hash = hashes[h]
    local key, lost, changed, is_new = hash.key, hash.lost, hash.changed, false
    if lost > 0 then
      call_in_parts('HDEL', key, hash.gone, lost)
    end
    if changed > MOST_AT_ONCE then
      call_in_parts('HSET', key, hash.changes, changed)
    elseif changed > 0 then
      call('HSET', key, upto(hash.changes, 1, changed))
    end
    if hash.lengthens then
      is_new = lengthen(key, hash.longest, check.now_ms)
    elseif hash.shortens and call('HLEN', key) * 2 == changed then
      call('PEXPIREAT', key, hash.longest)
    end
    if hash.searches and not is_new and call('HLEN', key) * 2 > changed then
      remove_dead(key, check.now_ms)
    end
  end
end

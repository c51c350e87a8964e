-- Reads and writes the subject hashes of a check, each with one command unless it has very many counters.

local weir = ...
local check, hashes, lengthen, remove_dead = weir.check, weir.hashes, weir.lengthen, weir.remove_dead
local call, try, upto, min = redis.call, redis.pcall, unpack, math.min
local MOST_AT_ONCE = 1000

-- Reads the counters in subject hashes.
function weir.read_counters()
  for h = 1, check.hash_count do
    local hash = hashes[h]
    for first = 1, hash.count, MOST_AT_ONCE do
      local last = min(first + MOST_AT_ONCE - 1, hash.count)
      local values = try('HMGET', hash.key, upto(hash.names, first, last))
      if values.err then
        check.bad_key = hash.key
      elseif first == 1 then
        hash.values = values
      else
        for i = first, last do
          hash.values[i] = values[i - first + 1]
        end
      end
    end
  end
end

-- Writes the noted changes.
function weir.write_hashes()
  for h = 1, check.hash_count do
    local hash = hashes[h]
    local key, is_new = hash.key, false
    for from = 1, hash.lost, MOST_AT_ONCE do
      call('HDEL', key, upto(hash.gone, from, min(from + MOST_AT_ONCE - 1, hash.lost)))
    end
    for from = 1, hash.changed, MOST_AT_ONCE do
      call('HSET', key, upto(hash.changes, from, min(from + MOST_AT_ONCE - 1, hash.changed)))
    end
    if hash.lengthens then
      is_new = lengthen(key, hash.longest, check.now_ms)
    elseif hash.shortens and call('HLEN', key) * 2 == hash.changed then
      call('PEXPIREAT', key, hash.longest)
    end
    if hash.searches and not is_new and call('HLEN', key) * 2 > hash.changed then
      remove_dead(key, check.now_ms)
    end
  end
end

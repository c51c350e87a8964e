-- Blocks: the time after a denial in which a rule denies every check. They are fields of the subject hash.

local weir = ...
local check, limits, ms_until = weir.check, weir.limits, weir.ms_until
local pack, max, min = struct.pack, math.max, math.min

-- Chooses the length of a block of a rule with several lengths: of the present one, or of the one that would start now,
-- after a block of this end and number, if there was one.
function weir.choose_block(rule, until_us, number)
  local lengths, chosen = rule.lengths, 1
  if until_us and check.now < until_us + lengths.memory_us then
    chosen = max(1, number - number % 1) + (until_us > check.now and 0 or 1)
  end
  rule.block_number, rule.block_ms = chosen, lengths[min(chosen, #lengths)]
end

-- The rest of the block of a rule in ms, and whether a block starts, or begins again because more of it is left than the rule
-- says.
function weir.block_of(rule, first)
  local block_ms, blocked_ms, starts, restarts = rule.block_ms, 0, false, false
  if block_ms > 0 then
    restarts = rule.block_us > block_ms * 1000 + SLACK_US
    blocked_ms = restarts and block_ms or ms_until(check.now + rule.block_us, check.now)
    if rule.counts_denial and blocked_ms == 0 then
      for i = first, rule.last do
        starts = starts or limits[i].wait > 0
      end
    end
  end
  return blocked_ms, starts, restarts
end

-- Notes the start of the block of a rule, for `write_hashes`. The counter lasts as long as the memory of the block.
function weir.write_block(rule)
  local hash, changed, block_ms, lengths = rule.hash, rule.hash.changed, rule.block_ms, rule.lengths
  local expires = check.now_ms + block_ms + (lengths and lengths.memory_us / 1000 or 0) + check.grace_ms
  hash.changes[changed + 1] = hash.names[rule.block_place]
  hash.changes[changed + 2] = pack('<ddddd', expires, check.now + block_ms * 1000, lengths and rule.block_number or 0, 0,
    check.now_ms)
  hash.changed, hash.lengthens = changed + 2, true
  hash.longest = max(hash.longest, expires)
end

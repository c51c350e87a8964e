-- Blocks: the time after a denial in which a rule denies every check. They are fields of the subject hash.

local weir = ...
local check, limits, ms_until = weir.check, weir.limits, weir.ms_until
local pack, max = struct.pack, math.max

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

-- Notes the start of the block of a rule, for `write_hashes`.
function weir.write_block(rule)
  local hash, changed, block_ms = rule.hash, rule.hash.changed, rule.block_ms
  hash.changes[changed + 1] = hash.names[rule.block_place]
  hash.changes[changed + 2] = pack('<ddddd', check.now_ms + block_ms + check.grace_ms, check.now + block_ms * 1000, 0, 0,
    check.now_ms)
  hash.changed, hash.lengthens = changed + 2, true
  hash.longest = max(hash.longest, check.now_ms + block_ms + check.grace_ms)
end

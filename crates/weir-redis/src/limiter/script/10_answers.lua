
-- The checks in turn; the reply.

local any_check
for _ = 1, checks do
  local act, cost, count, idempotent, after = unpack('<dddd', numbers, position)
  local decided = act == CONSUME and count > 0 and idempotent == 0 and plain_check(after, count, cost)
  if decided then
    position = decided
  else
    any_check = any_check or make_any_check()
    position = after
    any_check(act, cost, count, idempotent)
  end
end
return { now, table.concat(parts), upto(texts, 1, #texts) }


-- The checks in turn; the reply.

local plain_check, make_any_check, any_check
for _ = 1, checks do
  local act, cost, rule_count, sheet_count, idempotent, after = unpack('<ddddd', numbers, position)
  local plain = act == CONSUME and idempotent == 0
  local decided = plain and rule_count == 1 and single_check(after, cost)
  if not decided and not plain_check then
    plain_check, make_any_check = make_others()
  end
  if not decided and plain and rule_count > 0 then
    decided = plain_check(after, rule_count, cost, sheet_count)
  end
  if decided then
    position = decided
  else
    any_check = any_check or make_any_check()
    position = after
    any_check(act, cost, rule_count, sheet_count, idempotent)
  end
end
return { now, table.concat(parts), upto(texts, 1, #texts) }

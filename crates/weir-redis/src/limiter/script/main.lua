-- Decides the checks of a call: for each check judges all limits of all rules, then charges all of them or none.
--
-- KEYS, ARGV and the reply are described by the table of `layout.rs`. There is one function for each step of a check: `read`,
-- `judge`, `charge`, `reserve` and `answer`, in files of these names; `decide_any` calls them. A CONSUME_ONE takes the short way
-- of `decide_one`. Each file has the table `weir` as its argument, takes from it what earlier files put there, and adds its own.
-- All functions are made once, at the first call of the library. What a call changes, it sets at its beginning.
--
-- Guarantees:
-- - A denied check leaves every enforced counter byte for byte as it was, but for logs that count denials, for
--   blocks, and for counters and blocks that a step of the clock left in the future.
-- - A record charges all limits of the check, even if that is more than is left.
-- - An EXHAUST holds more units than any limit has, at all enforced limits but spacings and concurrency. Its answer is that
--   of an inspection afterwards.
-- - A RESERVE leaves counters as they are, but for spacings, which it charges: their distance begins with it. The units that
--   it holds are missing to all later checks (reservations.lua) until a COMMIT of its id, which charges its cost as a record
--   does and releases them in the same step, or until its end. Checks that write remove reservations that ended.
-- - An ACQUIRE or RESERVE that passes takes a lease of its id at each concurrency limit; a COMMIT releases those of its id. A
--   denied check takes and extends none.
-- - Peek and inspect write nothing. Every key written has an expiry.
-- - A key of the wrong type fails its check alone: all reads of a check come before its first write, and
--   nothing of an unreadable check is written. A malformed value counts as untouched.
--
-- The file of an algorithm returns its functions:
--   judge(now, x, y, z, cost, five parameters, value)
--                                          the wait in ms (0: passes), the state x y z at the present time, a number for
--                                          settle, and whether a step of the clock left the counter in the future; the
--                                          value that is stored, if the state is that of it
--   settle(now, passes, cost, x, y, z, number, parameters…)
--                                          charges if the check passes: remaining, reset_ms, delay_ms, the state, and a
--                                          fourth number to store, if there is one
--   refund(x, y, z, number, cost, pulled_back, stored x, stored z, fourth number, time of the charge, its level, now,
--          parameters…)                    the state afterwards, or nothing where no units return: there are none, or they
--                                          came from elsewhere; the function is nil where nothing is refunded
-- The file of a kind whose counters have a key of their own (`has_own_key`) returns
--   read(key, now, now_ms, grace_ms, three parameters, id to release or false)
--                                          the counter, or nil if the key holds another type
--   wait(counter, cost)                    the wait in ms (0: passes)
--   settle(counter, rule, takes, records, limit if reservations hold units at it)
--                                          charges, refunds or denies as the rule says, and writes: the wait, remaining,
--                                          reset_ms, whether units returned

local weir = ...
local check, parts, decide_one, decide_any = weir.check, weir.check.parts, weir.decide_one, weir.decide_any
local call, pack, unpack, upto, concat = redis.call, struct.pack, struct.unpack, unpack, table.concat

return function(keys, arguments)
  local numbers = arguments[1]
  local now, grace_ms, checks, has_periods, position = unpack(AS_HEADER, numbers)
  -- Decisions go by now, in µs; expiries by Redis' own clock, in ms.
  local time = call('TIME')
  -- Made numbers once: each use of a text as a number reads the text again.
  local seconds, us = time[1] + 0, time[2] + 0
  local now_ms = seconds * 1000 + (us - us % 1000) / 1000
  if now == 0 then
    now = seconds * 1000000 + us
  end
  if has_periods == 1 then
    local from_us, until_us
    from_us, until_us, position = unpack(AS_PERIODS, numbers, position)
    if now < from_us or until_us <= now + SLACK_US then
      return pack('<d', now)
    end
  end

  local next_key, part_count, is_prepared = 1, 0, false
  -- The answers follow the time, unless a single check takes the short way.
  if checks ~= 1 then
    parts[1], part_count = pack('<d', now), 1
  end
  check.text_count = 0
  for _ = 1, checks do
    local operation, cost, after = unpack(AS_CHECK, numbers, position)
    local allowed, remaining, reset_ms, wait, delay_ms, next_position, key_after
    if operation == CONSUME_ONE then
      allowed, remaining, reset_ms, wait, delay_ms, next_position, key_after =
        decide_one(cost, after, keys, next_key, numbers, now, now_ms, grace_ms)
    end
    if not allowed then
      if not is_prepared then
        is_prepared, check.keys, check.arguments, check.numbers, check.next_argument = true, keys, arguments, numbers, 2
        check.now, check.now_ms, check.grace_ms = now, now_ms, grace_ms
      end
      if part_count == 0 then
        parts[1], part_count = pack('<d', now), 1
      end
      check.next_key, check.part_count = next_key, part_count
      position = decide_any(operation, cost, after)
      next_key, part_count = check.next_key, check.part_count
    elseif part_count == 0 then
      return pack(AS_ONE_DECISION, now, allowed, remaining, reset_ms, wait, delay_ms)
    else
      part_count = part_count + 1
      parts[part_count] = pack(AS_DECISION, allowed, remaining, reset_ms, wait, delay_ms)
      position, next_key = next_position, key_after
    end
  end
  local answers = concat(parts, '', 1, part_count)
  return check.text_count > 0 and { answers, upto(check.texts, 1, check.text_count) } or answers
end

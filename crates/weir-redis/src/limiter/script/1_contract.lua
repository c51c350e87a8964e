#!lua
-- Decides checks: judges all limits of all rules of a check, then charges all of them or none.
--
-- KEYS, for each check in turn:
--   the key of its idempotency record, if it has one; the keys of its subject hashes; then for each of its
--   rules: the key of the rule's block, if it has one; then the key of each log.
-- ARGV[1]: numbers as little-endian doubles, all whole and below 2^53, and names of 12 bytes:
--   header   now_us (0: ask Redis' clock), grace_ms (added to every expiry), number of checks,
--            from_us, until_us: the time for which all quota periods below were chosen (0, 0: none)
--   check    operation (1 consume, 2 peek, 3 refund, 4 look), cost, number of rules, number of subject hashes,
--            idempotent (0, 1)
--   rule     group (0 enforced, 1 alone), block_ms (0: none), which of the check's subject hashes (from 1),
--            number of limits (at least 1)
--   limit    name of its counter, kind and three parameters
--     1 fixed_window            limit, window_us, 0
--     2 sliding_window_log      limit, window_us, count_denied (0, 1)
--     3 sliding_window_counter  limit, window_us, 0
--     4 token_bucket            capacity, per_us, scale       (per_us / scale units leave each µs)
--     5 leaky_bucket            capacity, per_us, scale
--     6 spacing                 interval_us, 0, 0
--     7 quota                   limit, start of the previous period, start of the present one,
--                               and two more: start of the next one, its end (all in µs)
-- ARGV[2…]: for each check with an idempotency record: fingerprint of the request, a text that is
--   handed back with a repeated answer, and how long the record lives in milliseconds.
--
-- Reply: { now_us, numbers, then the texts }. The numbers are little-endian doubles, for each check
--   decided     for each limit: allowed (0, 1), remaining, reset_after_ms, retry_after_ms (-1: never),
--               delay_ms; a check without limits: 4
--   repeated    2, how many numbers follow, the numbers of the first answer; its text is the next text
--   misused     3: the idempotency key belongs to another request
--   unreadable  5: a key holds another type than it should; the key is the next text
-- { now_us } alone: now_us is not in from_us … until_us - 1 s; nothing was read or written.
--
-- Guarantees:
-- - A denied check leaves every enforced counter byte for byte as it was, but for logs that count denials, for
--   blocks, and for counters and blocks that a step of the clock left in the future (4_judge.lua).
-- - Peek and look write nothing. Every key written has an expiry.
-- - A key of the wrong type concerns its check alone: all reads of a check come before its first write, and
--   nothing of an unreadable check is written. A damaged value counts as untouched.
--
-- Example: one consume of cost 1 against one fixed window of 5 a minute, never used, is answered
-- { 1763726400000000, pack('<ddddd', 1, 4, 60000, 0, 0) }.
--
-- Every check of a call waits for all of them, so the script is written for speed. Making a function takes time, and
-- more for each variable outside that it refers to. So a call makes only the functions that it needs: logs (5) and checks of
-- anything but a single limit (6) have functions of their own, which are made by the first check that needs them and get
-- what they refer to as arguments.

local pack, unpack, upto = struct.pack, struct.unpack, unpack
local call, try, floor, max, min = redis.call, redis.pcall, math.floor, math.max, math.min

local FOREVER = -1
local EXACT_MAX, SLACK_US = 9007199254740991, 1000000

-- Whole division rounded up; exact for a below 2^53.
local function div_ceil(a, b)
  local whole = floor(a / b)
  if whole * b < a then
    return whole + 1
  end
  return whole
end

-- Milliseconds from now until at, rounded up.
local function ms_until(at, now)
  return floor(max(0, at - now + 999) / 1000)
end

-- Decides checks: judges all limits of all rules of a check, then charges all of them or none.
--
-- KEYS, for each check in turn:
--   the key of its idempotency record, if it has one; the keys of its subject hashes; of a RESERVE or COMMIT, the keys of
--   the reservations of these subjects, of a RENEW or RELEASE the key of the lease; then the keys of the limits that have one
--   of their own (logs and leases).
-- ARGV[1]: numbers as little-endian doubles, all whole and below 2^53, and names of 12 bytes:
--   header   now_us (0: use Redis' clock), grace_ms (added to every expiry), number of checks
--            The number is negative if from_us and until_us follow: the time for which all quota periods below were chosen
--   check    operation (CONSUME, PEEK, REFUND, INSPECT, RECORD, RESERVE, COMMIT, EXHAUST), cost, number of rules, number of
--            subject hashes, idempotent (0, 1)
--            ACQUIRE: a CONSUME whose rules have concurrency limits. RENEW and RELEASE have no rules
--            CONSUME_ONE: a CONSUME without an idempotency record, whose only rule has one limit and neither a block nor
--            a cost of its own, and lets no check pass by less than its cost. The limit follows the cost
--            REFUND: then the time in µs of the charge that it names (0: none)
--            from RESERVE on also: id of the reservation or leases (16 bytes), a time (RESERVE, EXHAUST: to live, in ms; COMMIT:
--            the end that the answer to the RESERVE had, in µs; RENEW, RELEASE: the lease_us of the lease; ACQUIRE: 0),
--            whether less than the cost is accepted (0, 1). The rules of the first three have no costs of their own
--   rule     group (0 enforced, 1 alone; 2 more if a check passes while anything is left; 4 more if the rule has a cost of
--            its own), block_ms (0: none), position of its subject hash in the check (from 1), number of limits (at
--            least 1), the limits, then the own cost, if it has one (0: the rule needs one unit and takes none)
--   limit    name of its counter, kind and three parameters, or five (`has_five_parameters`).
--            The parameters stand at the head of the algorithm's file. Of a REFUND that names a charge, a number follows: of a
--            token bucket a bound below its level after the charge, in the unit of its third parameter (0: unknown)
-- ARGV[2…]: for each check with an idempotency record: fingerprint of the request, a text that is
--   returned with a repeated answer, and the time to live of the record in milliseconds (0: nothing is recorded).
--   A denial is not recorded, so its repeat is decided anew; but what it counted is: charges of rules alone, the denial in
--   logs, the start of blocks. A repeat counts none of these again.
--
-- Reply: numbers as little-endian doubles; if there are texts, an array of the numbers and the texts. Redis makes an array
-- with more work. The numbers are now_us, and for each check
--   decided     for each limit: allowed (0, 1), remaining, reset_after_ms, retry_after_ms (FOREVER: never),
--               delay_ms (of a REFUND: 1 if units returned, else 0); a check without limits: 4
--               of a RESERVE or COMMIT five numbers follow: SETTLED, the units (RESERVE: held, 0 if denied; COMMIT: no longer
--               held), the end in µs (RESERVE) or the units charged (COMMIT), 0, 0
--               of an ACQUIRE, RENEW or RELEASE: SETTLED, 0, now_us, 0, 0
--   repeated    2, the time of the first answer in µs (0: unknown), the count of the numbers that follow, the numbers of
--               the first answer; its text is the next text
--   misused     3: the idempotency key belongs to another request
--   unreadable  5: a key holds another type than it should; the key is the next text
--   ended       6: the reservation to commit, or the lease, is not open; nothing was written
-- now_us alone: it is not in from_us … until_us - 1 s; nothing was read or written.
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
-- Example: one consume of cost 1 against one fixed window of 5 a minute, never used, is answered
-- pack('<dddddd', 1763726400000000, 1, 4, 60000, 0, 0).
--
-- How the files make one program: `source.rs` makes a function of every other file; its first line names the arguments.
-- The functions are made at the first call: once where Redis runs the program as a function, and for each call where it
-- runs it as a script. Nothing that is made then depends on a call.
-- `make_algorithm(kind, ms_until, time_for, div_ceil, shared)` runs the file of the kind, which returns
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
--   settle(counter, cost, needed, passes, denied, refunds, records, writes, wait_beside, id, time of the charge)
--                                          charges, refunds or denies, and writes: the wait for `needed` units (that of
--                                          `wait_beside` if reservations hold some), remaining, reset_ms, whether units
--                                          returned
-- `charge_alone(kind, …)` decides a single limit of such a kind without reading the whole counter: the numbers of its
-- answer, or nil.
--
-- Every check of a call waits for all of them, so the program is written for speed. As a script, making a function takes
-- time, and more for each outer variable that it refers to. There are two paths: a CONSUME_ONE is decided in this file, all
-- else by `decide_any`. Short arguments are faster too, because Lua reads every byte of each text that it is given.
--
-- A step of the clock: a time x up to SLACK_US ahead of now holds, and time stands still for that counter. So does the
-- start of the next window, up to STEP_US ahead. A time further ahead was written before the clock was set back: it is
-- pulled back to now (a window's to the present window), and the counted units stay. That is written even if the check
-- is denied, so that no caller waits longer than the limit says.

local pack, unpack, upto = struct.pack, struct.unpack, unpack
local call, try = redis.call, redis.pcall
-- A hash is searched for dead counters at most this often for each counter.
local SEARCH_EVERY_MS = 1000

-- Whole division rounded up; exact for a below 2^53.
local function div_ceil(a, b)
  local rest = a % b
  return rest > 0 and (a - rest) / b + 1 or a / b
end

-- Milliseconds from now until at, rounded up.
local function ms_until(at, from)
  local us = at - from + 999
  return us > 999 and (us - us % 1000) / 1000 or 0
end

-- The time for a counter whose stamp x is ahead of now, and whether the stamp must be pulled back. next_start: where
-- the window after the present one starts; 0 for a counter without windows.
local function time_for(x, next_start, clock)
  if x <= clock + SLACK_US or (x <= next_start and x <= clock + STEP_US) then
    return x, false
  end
  return clock, true
end

local expiry, read_counter = subject_hash()
local shared = { bucket = bucket, window = window, expiry = expiry }

-- The functions of algorithms by kind, with room for eight: making room takes time.
local algorithms = { false, false, false, false, false, false, false, false }

local function functions_of(kind)
  local functions = algorithms[kind]
  if not functions then
    functions = { make_algorithm(kind, ms_until, time_for, div_ceil, shared) }
    algorithms[kind] = functions
  end
  return functions
end

-- The tables of decide_any, which serve one check after another.
local tables

return function(keys, arguments)
  local numbers = arguments[1]
  local now, grace_ms, checks, position = unpack('<ddd', numbers)
  -- Decisions go by now, in µs; expiries by Redis' own clock, in ms.
  local now_ms
  do
    local time = call('TIME')
    -- Made numbers once: each use of a text as a number reads the text again.
    local seconds, us = time[1] + 0, time[2] + 0
    now_ms = seconds * 1000 + (us - us % 1000) / 1000
    if now == 0 then
      now = seconds * 1000000 + us
    end
  end
  if checks < 0 then
    local from_us, until_us
    from_us, until_us, position = unpack('<dd', numbers, position)
    if now < from_us or until_us <= now + SLACK_US then
      return pack('<d', now)
    end
    checks = -checks
  end

  local next_key, next_arg = 1, 2
  -- The answers, unless a single check is decided in this file.
  local parts, texts
  if checks ~= 1 then
    parts, texts = { pack('<d', now) }, {}
  end
  local made_kind, judge, settle

  for _ = 1, checks do
    local operation, cost, rules = unpack('<dd', numbers, position)
    -- The answer; `allowed` is nil until the check is decided.
    local allowed, remaining, reset_ms, wait, delay_ms
    if operation == CONSUME_ONE then
      local name, kind, a, b, c, after = unpack('<c12dddd', numbers, rules)
      local key = keys[next_key]
      if has_own_key[kind] then
        -- Its key comes after that of the subject hash, which it does not use.
        allowed, remaining, reset_ms, wait, delay_ms =
          charge_alone(kind, keys[next_key + 1], cost, a, b, c, now, now_ms, grace_ms, ms_until, expiry)
        if allowed then
          position, next_key = after, next_key + 2
        end
      else
        local d, e
        if has_five_parameters[kind] then
          d, e, after = unpack('<dd', numbers, after)
        end
        local value = try('HGET', key, name)
        local expiry_ms, x, y, z, searched_ms = read_counter(value, now_ms)
        -- A value with a seventh number: reservations hold units at the counter.
        if expiry_ms and #value < 49 or not value or (type(value) == 'string' and #value < 49) then
          if kind ~= made_kind then
            local functions = functions_of(kind)
            judge, settle, made_kind = functions[1], functions[2], kind
          end
          local number, pulled_back, fourth
          wait, x, y, z, number, pulled_back = judge(now, x, y, z, cost, a, b, c, d, e, value)
          local passes = wait == 0
          remaining, reset_ms, delay_ms, x, y, z, fourth = settle(now, passes, cost, x, y, z, number, a, b, c)
          allowed, delay_ms = passes and 1 or 0, passes and delay_ms or 0
          if passes or pulled_back then
            if fourth and not passes then
              -- Only the time was pulled back: the units are of the window in which they were taken.
              fourth = #value >= 48 and unpack('<d', value, 41) or nil
            end
            local expires = expiry(expiry_ms, reset_ms, now_ms, grace_ms)
            local searches, is_new = not searched_ms or now_ms - searched_ms >= SEARCH_EVERY_MS, false
            searched_ms = searches and now_ms or searched_ms
            call('HSET', key, name, fourth and pack('<dddddd', expires, x, y, z, searched_ms, fourth)
              or pack('<ddddd', expires, x, y, z, searched_ms))
            if not expiry_ms or expiry_ms < expires then
              is_new = lengthen(key, expires, now_ms)
            elseif expires < expiry_ms and call('HLEN', key) == 1 then
              call('PEXPIREAT', key, expires)
            end
            if searches and not is_new and call('HLEN', key) > 1 then
              remove_dead(key, read_counter, now_ms, upto)
            end
          end
          position, next_key = after, next_key + 1
        end
      end
    end
    if allowed and not parts then
      return pack('<dddddd', now, allowed, remaining, reset_ms, wait, delay_ms)
    elseif allowed then
      parts[#parts + 1] = pack('<ddddd', allowed, remaining, reset_ms, wait, delay_ms)
    else
      parts, texts = parts or { pack('<d', now) }, texts or {}
      if not tables then
        -- With room for ten limits.
        tables = {
          algorithms = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, a = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
          b = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, c = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, d = {}, e = {},
          places = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, expiries = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
          searched = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, waits = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
          x = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, y = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
          z = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, numbers = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
          logs = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
          costs = {}, groups = {}, lasts = {}, rule_hashes = {}, block_ms = {}, block_places = {}, blocks = {}, hashes = {},
          passes = {}, denied = {}, debts = {}, reservations = {},
        }
      end
      position, next_key, next_arg = decide_any(tables, rules, next_key, next_arg, operation, cost, keys, numbers, arguments,
        now, now_ms, grace_ms, parts, texts, upto, ms_until, read_counter, lengthen, remove_dead, has_own_key,
        has_five_parameters, functions_of, reservations)
    end
  end
  local answers = table.concat(parts)
  return #texts > 0 and { answers, upto(texts, 1, #texts) } or answers
end

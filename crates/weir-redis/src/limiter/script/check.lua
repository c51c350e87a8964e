-- The check that is being decided by `decide_any`, and what was read of it. These tables serve one check after another: all
-- that a check reads of them, it has set. A value that is not there is false, because a field that becomes nil is made anew.

local weir = ...

-- Of the call: keys, arguments, numbers (the first of the arguments), now (µs), now_ms (of Redis' own clock), grace_ms, next_key,
-- next_argument; and the answers so far: part_count parts (of the numbers) and text_count texts.
-- As in the request: operation (an ACQUIRE is a CONSUME here), cost, rule_count, hash_count, charged_us, id, time, accepts_less.
weir.check = {
  operation = 0, cost = 0, rule_count = 0, hash_count = 0, charged_us = 0, id = false, time = 0, accepts_less = 0,
  keys = false, arguments = false, numbers = false, now = 0, now_ms = 0, grace_ms = 0, next_key = 0, next_argument = 0,
  parts = {}, part_count = 0, texts = {}, text_count = 0,
  -- Whether it is an ACQUIRE; whether it renews or releases a lease; whether it is of a reservation (RESERVE, COMMIT, EXHAUST).
  acquires = false, renews = false, is_of_reservation = false,
  -- The number of limits that were read, and a key that holds another type than it should.
  limit_count = 0, bad_key = false,
  -- Whether it is denied, and whether it writes.
  is_denied = false, writes = false,
  -- Whether reservations change its answer. Of a reservation: the units to be reserved, and their end in µs.
  sees_reservations = false, amount = 0, ends = 0,
  -- The idempotency record (record.lua).
  record = false, fingerprint = false, text = false, record_ms = false, known = false, counted = false, earlier_id = false,
  marks = '',
}

-- Rules that are charged together are one group; a rule that is charged alone is a group of its own. `passes` is whether the
-- group passes, `denied` whether a limit denies it.
weir.enforced = { passes = true, denied = false }

-- The rules of the check, in the order of the request.
weir.rules = setmetatable({}, { __index = function(rules, r)
  rules[r] = {
    group = false, passes = true, denied = false,
    -- Its subject hash, its last limit, and the first 10 bytes of the names of its counters, of a check with a record.
    hash = false, last = 0, name = false,
    -- The units that it takes, and those that it needs to pass: more if the rule only looks, fewer if a check passes while
    -- anything is left.
    cost = 0, needed = 0, has_debt = false,
    -- The time of its block (0: none), the place of the block's counter, and the rest of the block in µs.
    block_ms = 0, block_place = 0, block_us = 0,
    -- If its blocks have several lengths: these in ms, with their memory in µs (false: one length), and the number of the block.
    lengths = false, block_number = 0,
    -- Whether its charge is refunded, and whether its denial counts, unless an earlier attempt counted one (charge.lua).
    refunds = false, counts_denial = false,
  }
  return rules[r]
end })

-- The limits of all rules.
weir.limits = setmetatable({}, { __index = function(limits, i)
  limits[i] = {
    -- The functions of its algorithm, its parameters, and the bound below the level after the charge that a REFUND names.
    algorithm = false, a = 0, b = 0, c = 0, d = false, e = false, level = 0,
    -- Its counter: the place among those that are read of the subject hash (false: none), and the log or leases of a limit with
    -- a key of its own. As stored: its expiry, and the time of search.
    place = false, log = false, expiry_ms = false, searched_ms = false,
    -- The counter at the present time, the number for settle, and whether a step of the clock left it in the future.
    x = 0, y = 0, z = 0, number = 0, pulled = false,
    -- The wait in ms.
    wait = 0,
    -- If reservations change the answer: the units that they hold; the units as stored and their latest end (false: none).
    held = 0, units = false, units_end = false,
    -- Of a reservation: the name of the counter at which it holds units (false: none).
    holds = false,
  }
  return limits[i]
end })

-- The subject hashes.
weir.hashes = setmetatable({}, { __index = function(hashes, h)
  hashes[h] = {
    -- The names of the counters to read, and their values.
    key = false, count = 0, names = {}, values = false,
    -- The fields to write (names and values in turn), and those to remove.
    changed = 0, changes = {}, lost = 0, gone = {},
    -- The latest expiry that is written, and whether expiries become later or earlier; whether dead counters are searched for.
    longest = 0, lengthens = false, shortens = false, searches = false,
    -- The open reservations (reservations.lua), and the names at which the reservation of the check holds units.
    open = false, holds = false,
  }
  return hashes[h]
end })

-- Whole-number arithmetic of time. All numbers are below 2^53.
--
-- A step of the clock: a time up to SLACK_US ahead of now holds, and time stands still for that counter. So does the start of
-- the next window, up to STEP_US ahead. A time further ahead was written before the clock was set back: it is pulled back to
-- now (a window's to the present window), and the counted units stay. That is written even if the check is denied, so that
-- no caller waits longer than the limit says.

local weir = ...

-- Whole division rounded up.
function weir.div_ceil(a, b)
  local rest = a % b
  return rest > 0 and (a - rest) / b + 1 or a / b
end

-- Milliseconds from `from` until `at`, rounded up.
function weir.ms_until(at, from)
  local us = at - from + 999
  return us > 999 and (us - us % 1000) / 1000 or 0
end

-- The time for a counter whose stamp x is ahead of now, and whether the stamp must be pulled back. next_start: where the window
-- after the present one starts; 0 for a counter without windows.
function weir.time_for(x, next_start, now)
  if x <= now + SLACK_US or (x <= next_start and x <= now + STEP_US) then
    return x, false
  end
  return now, true
end

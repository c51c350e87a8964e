-- token_bucket: a bucket that holds the tokens that are missing; they drain as tokens refill.

local weir = ...

-- Units of a charge return as far as they have not drained: the first to be taken are the first to drain. charged_level: a
-- bound below the level after the charge.
local function refund(x, level, scale, _, cost, _, _, _, _, charged_us, charged_level, now, _, per_us)
  local returned = cost * scale
  if charged_us > now + SLACK_US then
    return nil
  elseif charged_us > 0 then
    returned = math.min(returned, charged_level - math.max(0, now - charged_us) * per_us)
  end
  if level > 0 and returned > 0 then
    return x, math.max(0, level - returned), scale
  end
end

return { judge = weir.bucket.judge, settle = weir.bucket.settle, refund = refund }

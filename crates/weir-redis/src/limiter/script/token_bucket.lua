-- token_bucket: a bucket that holds the tokens that are missing; they drain as tokens refill.

local _, time_for, div_ceil, shared = ...

local judge, settle = shared.bucket(time_for, div_ceil)

local function refund(x, level, scale, cost)
  local drained = level - cost * scale
  return x, drained > 0 and drained or 0, scale
end

return judge, settle, refund

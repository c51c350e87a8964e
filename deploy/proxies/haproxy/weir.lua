-- Asks Weir before HAProxy forwards a request. Replace the address and the key.
local URL = "http://weir-gate.internal:8081/authorize/haproxy"
local KEY = "weir_KEY"
-- For each attempt. HAProxy repeats a question three times; the id of the request is the same, so it counts once.
local TIMEOUT_MS = 100

local function weir(txn)
  local answer = core.httpclient():get{
    url = URL,
    timeout = TIMEOUT_MS,
    headers = {
      ["x-weir-key"] = { KEY },
      ["x-forwarded-for"] = { txn.sf:src() },
      ["x-forwarded-method"] = { txn.sf:method() },
      ["x-forwarded-uri"] = { txn.sf:pathq() },
      ["x-forwarded-host"] = { txn.sf:req_hdr("host") },
      ["x-weir-request-id"] = { txn.f:unique_id() },
    },
  }
  txn:set_var("txn.weir_status", answer and answer.status or 0)
  local headers = answer and answer.headers or {}
  local names = { weir_retry = "retry-after", weir_limit = "ratelimit", weir_policy = "ratelimit-policy", weir_over = "x-ratelimit-over" }
  for variable, name in pairs(names) do
    local values = headers[name]
    if values then
      txn:set_var("txn." .. variable, values[0])
    end
  end
end

core.register_action("weir", { "http-req" }, weir)

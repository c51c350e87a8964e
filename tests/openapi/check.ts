// Makes a check with the types that openapi-typescript generated. The control plane's types must compile.

import type { paths as ControlPaths } from "./control.js";
import type { components, paths } from "./gate.js";

type CheckBody = paths["/check"]["post"]["requestBody"]["content"]["application/json"];
type CheckAnswer = components["schemas"]["CheckAnswer"];
type Rules = ControlPaths["/api/v1/tenants/{tenant}/rules"]["get"]["responses"][200]["content"]["application/json"];

const body: CheckBody = { namespace: "conformance", attributes: { suite: "window", user: `generated-ts-${process.pid}` }, cost: 2 };
const response = await fetch(`${process.env["WEIR_GATE_URL"]}/check`, {
  method: "POST",
  headers: { authorization: `Bearer ${process.env["WEIR_KEY"]}`, "content-type": "application/json" },
  body: JSON.stringify(body),
});
const answer = (await response.json()) as CheckAnswer;
const names: Rules["data"][number]["name"][] = answer.limits.map((limit) => limit.rule);
if (!answer.allowed || answer.remaining !== 0 || names.join() !== "window") throw new Error(JSON.stringify(answer));

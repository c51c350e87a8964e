// The gate, the stub and the cases of this run. `cargo xtask clients` starts them and sets the variables.

import { readFileSync } from "node:fs";
import { createServer } from "node:net";

export const GATE = needed("WEIR_GATE_URL");
export const KEY = needed("WEIR_KEY");
export const STUB = needed("WEIR_STUB");
/** The webhook that delivers jobs to the stub, and its secret. */
export const WEBHOOK = needed("WEIR_WEBHOOK");
export const WEBHOOK_SECRET = needed("WEIR_WEBHOOK_SECRET");
/** The process of the gate, which tests of a frozen gate stop and continue. */
export const GATE_PID = Number(needed("WEIR_PID"));
/** New in each run, so that counters of earlier runs do not count. */
export const RUN = `ts-${process.pid}-${Date.now()}`;
/** More than a busy machine needs. */
export const GENEROUS_MS = 20_000;

export const conformance = JSON.parse(readFileSync(new URL("../../conformance.json", import.meta.url), "utf8"));

export async function closedPort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

function needed(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run \`cargo xtask clients\``);
  return value;
}

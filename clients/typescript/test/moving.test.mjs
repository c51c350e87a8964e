// Runs both programs of each page of the guide's folder `move`: that of the other library, and that of Weir with the rule of the page.

import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { GATE, GENEROUS_MS, KEY, closedPort } from "./support.mjs";

const { WEIR_BIN, WEIR_URL, WEIR_TENANT, WEIR_WRITE_KEY, WEIR_REDIS_URL } = process.env;
/** In the package, so that the programs find it by its name. */
const folder = fileURLToPath(new URL("../dist/moving/", import.meta.url));
const INTERVAL_MS = 20;
const tsc = fileURLToPath(new URL("../node_modules/.bin/tsc", import.meta.url));
mkdirSync(folder, { recursive: true });
after(() => rmSync(folder, { recursive: true }));

/** The path that a program limits, and whether two processes of the program before share their counters. */
const pages = {
  "express-rate-limit": { path: "/login", shared: false },
  "nestjs-throttler": { path: "/reports", shared: false },
  "upstash-ratelimit": { path: "/", shared: true },
};

for (const [name, { path, shared }] of Object.entries(pages)) {
  test(`both programs of ${name} admit five requests of an address`, async (t) => {
    const page = readFileSync(new URL(`../../../docs/move/${name}.md`, import.meta.url), "utf8");
    const [, language, before, rule, after] = /```(js|ts)\n(.*?)```.*?```yaml\n(.*?)```.*?```\1\n(.*?)```/s.exec(page);
    writeFileSync(`${folder}${name}.yaml`, rule);
    const applied = { ...process.env, WEIR_URL, WEIR_TENANT, WEIR_KEY: WEIR_WRITE_KEY };
    execFileSync(WEIR_BIN, ["apply", "-f", `${folder}${name}.yaml`, "--set", name, "--yes"], { env: applied, stdio: "pipe" });
    const upstash = name === "upstash-ratelimit" ? await standInForUpstash(t) : {};
    // On a busy machine the reader waits longer.
    const patient = after.replace('onError: "deny"', `onError: "deny", timeoutMs: ${GENEROUS_MS}`);
    assert.notEqual(patient, after);

    const old = await admissions(t, `${name}-before`, language, before, path, upstash);
    assert.deepEqual(old, shared ? [5, 5] : [5, 10]);
    const moved = await admissions(t, `${name}-after`, language, patient, path, { WEIR_GATE_URL: GATE, WEIR_KEY: KEY });
    assert.deepEqual(moved, [5, 5]);
  });
}

/** The number of requests that one process admits of seven, and that this one and a second admit of fourteen. */
async function admissions(t, name, language, code, path, variables) {
  const file = `${folder}${name}.${language === "ts" ? "mts" : "mjs"}`;
  writeFileSync(file, code);
  if (language === "ts") {
    const options = ["--ignoreConfig", "--strict", "--experimentalDecorators", "--module", "nodenext", "--target", "es2023", "--skipLibCheck", "--types", "node"];
    execFileSync(tsc, [...options, file], { cwd: folder, stdio: "inherit" });
  }
  let admitted = 0;
  const counts = [];
  for (let nth = 0; nth < 2; nth += 1) {
    const url = await start(t, `${folder}${name}.mjs`, variables);
    const statuses = [];
    for (let request = 0; request < 7; request += 1) {
      const response = await fetch(url + path, { method: "POST" });
      await response.arrayBuffer();
      statuses.push(response.status);
    }
    assert(statuses.every((status) => [200, 201, 429].includes(status)), `${name}: ${statuses}`);
    admitted += statuses.filter((status) => status !== 429).length;
    counts.push(admitted);
  }
  return counts;
}

/** Starts a program, and waits until it listens. */
async function start(t, file, variables) {
  const url = await closedPort();
  const env = { ...process.env, ...variables, PORT: new URL(url).port };
  const program = spawn("node", [file], { env, stdio: ["ignore", "inherit", "inherit"] });
  t.after(() => program.kill());
  const deadline = Date.now() + GENEROUS_MS;
  for (;;) {
    assert.equal(program.exitCode, null, `${file} ended`);
    assert(Date.now() < deadline, `${file} does not listen`);
    // No request, because one can be limited.
    const socket = connect(Number(env.PORT), "127.0.0.1");
    const listens = await once(socket, "connect").then(() => true, () => false);
    socket.destroy();
    if (listens) return url;
    await setTimeout(INTERVAL_MS);
  }
}

/** Upstash's protocol over HTTP, in front of the Redis of this run. Its scripts state a flag that Upstash alone knows. */
async function standInForUpstash(t) {
  const run = promisify(execFile);
  // `redis-cli` takes the password only from an address that names the account.
  const redis = WEIR_REDIS_URL.replace("redis://:", "redis://default:");
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const answers = [];
    // The client sends all of its commands to `/pipeline`.
    for (const command of JSON.parse(body)) {
      const words = command.map((word) => String(word).replace("#!lua flags=allow-key-locking", ""));
      answers.push(
        await run("redis-cli", ["-e", "--json", "--no-auth-warning", "-u", redis, ...words]).then(
          ({ stdout }) => ({ result: JSON.parse(stdout) }),
          ({ stdout, stderr }) => ({ error: `${stdout}${stderr}` }),
        ),
      );
    }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answers));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { UPSTASH_REDIS_REST_URL: `http://127.0.0.1:${server.address().port}`, UPSTASH_REDIS_REST_TOKEN: "token" };
}

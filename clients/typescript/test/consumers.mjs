// Uses the packed client of the project of the first argument as CommonJS, without the newer `require` of ES modules, as Jest does; and
// compiles against its types as `moduleResolution: node10` finds them.

import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [, , project] = process.argv;
const installed = (name) => fileURLToPath(new URL(`../node_modules/${name}`, import.meta.url));
mkdirSync(`${project}/node_modules/@nestjs`);
// Nest 12 is ESM alone.
symlinkSync(installed("nestjs-common-11"), `${project}/node_modules/@nestjs/common`);
symlinkSync(installed("hono"), `${project}/node_modules/hono`);

const run = (command, ...words) => execFileSync(command, words, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const program = `
for (const name of ["express", "fastify", "hono", "next"]) require("@weir-ratelimit/client/" + name);
const { WeirGuard, Limit } = require("@weir-ratelimit/client/nest");
const { MemoryGate } = require("@weir-ratelimit/client/testing");
const { Weir } = require("@weir-ratelimit/client");
const weir = new MemoryGate({ deny: [{ attributes: { user: "eve" } }] }).client();
if (!(weir instanceof Weir) || typeof WeirGuard !== "function" || typeof Limit !== "function") throw new Error("other exports");
weir.check("api", { user: "eve" }).then(({ allowed }) => console.log(allowed));
`;
writeFileSync(`${project}/common.cjs`, program);
const printed = run("node", "--no-experimental-require-module", "common.cjs");
if (printed !== "false\n") throw new Error(`common.cjs printed ${printed}`);

const types = `
import { Answer, Weir } from "@weir-ratelimit/client";
import { Limit, NestRequest, WeirModule } from "@weir-ratelimit/client/nest";
import { limited } from "@weir-ratelimit/client/next";
import { MemoryGate } from "@weir-ratelimit/client/testing";
export const answer: Promise<Answer> = new Weir({ url: "http://a", key: "k", onError: "deny" }).check("api", { user: 1 });
export const wrapped = limited(new MemoryGate().client(), { namespace: "api", attributes: (request: Request) => ({ path: request.url }) }, () => new Response());
export const imported = WeirModule.forRootAsync({ useFactory: () => ({ url: "http://a", key: "k", onError: "deny" as const }) });
export const decorator = Limit<NestRequest>({ namespace: "api", attributes: () => null });
`;
writeFileSync(`${project}/old.cts`, types);
// TypeScript 7 knows no node10.
const tsc = fileURLToPath(new URL("../../../tests/openapi/node_modules/.bin/tsc", import.meta.url));
run(tsc, "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "commonjs", "--moduleResolution", "node10", "--types", "node", "--typeRoots", installed("@types"), "old.cts");

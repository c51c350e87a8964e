// Runs Jest in the project of the first argument, which has the packed client: the test of `jest/`, without the newer `require` of ES modules.

import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, symlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [, , project] = process.argv;
const folder = fileURLToPath(new URL("jest/", import.meta.url));
const installed = (name) => fileURLToPath(new URL(`../node_modules/${name}`, import.meta.url));
for (const file of ["guard.spec.ts", "package.json", "tsconfig.json"]) copyFileSync(folder + file, `${project}/${file}`);
// Nest 11, because Nest 12 is ESM alone.
const names = readdirSync(`${folder}node_modules`).filter((name) => !name.startsWith("."));
for (const name of names) symlinkSync(`${folder}node_modules/${name}`, `${project}/node_modules/${name}`);
symlinkSync(installed("hono"), `${project}/node_modules/hono`);
const words = ["--no-experimental-require-module", "node_modules/jest/bin/jest.js", "--watchman=false", "--runInBand", `--cacheDirectory=${project}/jest-cache`];
execFileSync("node", words, { cwd: project, stdio: ["ignore", "inherit", "inherit"] });

// Runs the first block of README.md in the project of the first argument, where the packed client is installed alone. The block must
// compile too, by the types of the package.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [, , project] = process.argv;
const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const [, code] = /```ts\n(.*?)```\n/s.exec(page);
const [, expected] = /```text\n(.*?)```\n/s.exec(page);
writeFileSync(`${project}/readme.mts`, code);
const tsc = fileURLToPath(new URL("../node_modules/.bin/tsc", import.meta.url));
const types = fileURLToPath(new URL("../node_modules/@types", import.meta.url));
const options = ["--strict", "--module", "nodenext", "--target", "es2023", "--types", "node", "--typeRoots", types];
execFileSync(tsc, [...options, `${project}/readme.mts`], { cwd: project, stdio: "inherit" });
const output = execFileSync("node", [`${project}/readme.mjs`], { cwd: project, encoding: "utf8" });
if (output !== expected) throw new Error(`README.md promises\n${expected}but its code printed\n${output}`);

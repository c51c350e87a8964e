// Runs the programs of README.md, and that of the repository's README.md, in the project of the first argument, where the packed
// client is installed alone. They must compile too, by the types of the package.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [, , project] = process.argv;
const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const root = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
const blocks = (text, kind) => [...text.matchAll(new RegExp(`\`\`\`${kind}\n(.*?)\`\`\`\n`, "gs"))].map(([, block]) => block);
const codes = blocks(page, "ts");
const tsc = fileURLToPath(new URL("../node_modules/.bin/tsc", import.meta.url));
const types = fileURLToPath(new URL("../node_modules/@types", import.meta.url));
const options = ["--strict", "--module", "nodenext", "--target", "es2023", "--types", "node", "--typeRoots", types];
for (const [number, expected] of blocks(page, "text").entries()) {
  const output = run(`program-${number}`, codes[number]);
  if (output !== expected) throw new Error(`README.md promises\n${expected}but its code printed\n${output}`);
}
const [program, ...others] = blocks(root, "ts");
// On a busy machine the reader waits longer.
const output = run("root", program.replace('onError: "deny"', 'onError: "deny", timeoutMs: 20_000'));
if (others.length > 0 || !/^allowed, \d left\n$/.test(output)) throw new Error(`the code of the repository's README.md printed\n${output}`);

function run(name, code) {
  writeFileSync(`${project}/${name}.mts`, code);
  execFileSync(tsc, [...options, `${project}/${name}.mts`], { cwd: project, stdio: "inherit" });
  return execFileSync("node", [`${project}/${name}.mjs`], { cwd: project, encoding: "utf8" });
}

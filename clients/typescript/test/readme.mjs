// Runs the programs of README.md in the project of the first argument, where the packed client is installed alone. They must
// compile too, by the types of the package.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [, , project] = process.argv;
const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const blocks = (kind) => [...page.matchAll(new RegExp(`\`\`\`${kind}\n(.*?)\`\`\`\n`, "gs"))].map(([, text]) => text);
const codes = blocks("ts");
const tsc = fileURLToPath(new URL("../node_modules/.bin/tsc", import.meta.url));
const types = fileURLToPath(new URL("../node_modules/@types", import.meta.url));
const options = ["--strict", "--module", "nodenext", "--target", "es2023", "--types", "node", "--typeRoots", types];
for (const [number, expected] of blocks("text").entries()) {
  writeFileSync(`${project}/program-${number}.mts`, codes[number]);
  execFileSync(tsc, [...options, `${project}/program-${number}.mts`], { cwd: project, stdio: "inherit" });
  const output = execFileSync("node", [`${project}/program-${number}.mjs`], { cwd: project, encoding: "utf8" });
  if (output !== expected) throw new Error(`README.md promises\n${expected}but its code printed\n${output}`);
}

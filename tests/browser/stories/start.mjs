// The first five minutes: sign up, take a template, paste its code, and see the first decision and the first denial.
import { strict as assert } from "node:assert";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { fresh, heading, stack, tell } from "../steps.mjs";

const run = promisify(execFile);

// What it is called, how it is run, as which file, and what has to be installed where that is not a matter of course.
const LANGUAGES = [
    ["Python", ["python3"], "check.py"],
    ["TypeScript", ["node"], "check.mjs"],
    ["Go", ["go", "run"], "check.go", ["go", "version"]],
    ["Java", ["java"], "Check.java", ["javac", "-version"]],
];

// Older versions of node know no types; only the one annotation is taken away for them.
const TYPES = ": Record<string, string>";

await tell("start", async ({ page, shoot }) => {
    const began = performance.now();
    await signUp(page);
    await shoot("start-templates");
    await use(page, "Login protection");
    const decision = page.getByRole("region", { name: "The first decision" });
    await decision.getByText("Waiting for the first check").waitFor();
    await page.getByRole("button", { name: "Copy the key" }).waitFor();
    await shoot("start-key");
    await page.getByRole("button", { name: "I stored it" }).click();

    await once(page, decision);
    await untilDenied(page);
    await decision.getByText("So far 5 allowed and 1 denied. The next check of user u-17 could pass again in").waitFor();
    await decision.getByText("Denied", { exact: true }).waitFor();
    await shoot("start-denied");
    console.log(`start: from nothing to the first denial in ${Math.round(performance.now() - began)} ms`);

    await otherLanguages(page);
    await again(page);
});

async function signUp(page) {
    await page.goto(`${stack.baseUrl}/sign-up`);
    await heading(page, "Sign up");
    await page.getByLabel("E-mail").fill(`start-${fresh}@example.com`);
    await page.getByLabel("Password").fill(`a long word ${fresh}`);
    await page.getByLabel("Name of your tenant").fill(`Start ${fresh}`);
    await page.getByRole("button", { name: "Sign up" }).click();
    await heading(page, "Get started");
}

async function once(page, decision) {
    const { stdout } = await run("sh", ["-c", await codeOf(page, "Copy the curl code")]);
    assert.deepEqual([JSON.parse(stdout).allowed, JSON.parse(stdout).remaining], [true, 4]);
    await decision.getByText("It works: the first check has arrived.").waitFor();
    await decision.getByText("So far 1 allowed and 0 denied. 4 of 5 left for user u-17.").waitFor();
}

async function untilDenied(page) {
    const { stdout } = await run("sh", ["-c", await codeOf(page, "Copy the loop")]).catch((ended) => ended);
    assert.deepEqual(stdout.trim().split("\n"), ["200", "200", "200", "200", "429"], stdout);
}

/** Programs run as they stand; they are told of the denial, and of an allowed check of somebody else. */
async function otherLanguages(page) {
    const folder = await mkdtemp(join(tmpdir(), "weir-start-"));
    await page.getByRole("tab", { name: "curl" }).focus();
    for (const [language, command, file, needed] of LANGUAGES) {
        await page.keyboard.press("ArrowRight");
        if (needed && !(await isInstalled(needed))) {
            console.log(`start: ${needed[0]} is not installed, so its code was not run`);
            continue;
        }
        const code = (await codeOf(page, `Copy the ${language} code`)).replace(TYPES, "");
        const path = join(folder, file);
        const tell = async (text) => {
            await writeFile(path, text);
            return (await run(command[0], [...command.slice(1), path])).stdout;
        };
        assert.match(await tell(code), /^denied, again in \d+ s\n$/, file);
        const other = code.replace('"u-17"', `"${file}"`).replace('\\"u-17\\"', `\\"${file}\\"`);
        assert.equal(await tell(other), "allowed\n", file);
    }
    await rm(folder, { recursive: true });
}

async function isInstalled([program, ...question]) {
    return run(program, question).then(() => true, (error) => error.code !== "ENOENT");
}

/** A name that is taken gets a number, and the key that is known is used again. */
async function again(page) {
    await page.getByRole("button", { name: "Another template" }).click();
    await use(page, "Login protection");
    await page.getByRole("link", { name: "login-per-user-2" }).waitFor();
    await page.getByText("Stored.").waitFor();
    await page.getByRole("button", { name: "Another template" }).click();
    await use(page, "Expensive job");
    await page.getByRole("link", { name: "jobs-per-team" }).waitFor();
    const { stdout } = await run("sh", ["-c", await codeOf(page, "Copy the curl code")]);
    assert.equal(JSON.parse(stdout).remaining, 80);
    await page.getByText("So far 1 allowed and 0 denied. 80 of 100 left for team t-3").waitFor();
}

async function use(page, template) {
    await page.getByRole("region", { name: template }).getByRole("button", { name: "Use this" }).click();
}

async function codeOf(page, label) {
    return page.getByRole("group", { name: label }).getByRole("code").textContent();
}

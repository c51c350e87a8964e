// Getting started: sign up, choose a template, run its code, and see the first decision and the first denial.
import { strict as assert } from "node:assert";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { fresh, heading, stack, scenario } from "../steps.mjs";

const run = promisify(execFile);

// Name, command, file name, and the command that tells whether the tool is installed.
const LANGUAGES = [
    ["Python", ["python3"], "check.py"],
    ["TypeScript", ["node"], "check.mjs"],
    ["Go", ["go", "run"], "check.go", ["go", "version"]],
    ["Java", ["java"], "Check.java", ["javac", "-version"]],
];

// Removed for versions of Node.js without type stripping.
const TYPES = ": Record<string, string>";

await scenario("start", async ({ page, shoot }) => {
    const began = performance.now();
    await signUp(page);
    await shoot("start-templates");
    await inTwoClicks(page, shoot);
    await page.getByRole("button", { name: "Another template" }).click();
    await use(page, "Login protection");
    const decision = page.getByRole("region", { name: "The first decision" });
    await decision.getByText("Waiting for the first check").waitFor();
    await page.getByText("Saved.").waitFor();

    await once(page, decision);
    await untilDenied(page);
    await decision.getByText("So far: 5 allowed, 1 denied. Retry in").waitFor();
    await decision.getByText("Denied", { exact: true }).waitFor();
    await shoot("start-denied");
    console.log(`start: from nothing to the first denial in ${Math.round(performance.now() - began)} ms`);

    await otherLanguages(page);
    await useAnotherTemplate(page);
});

async function signUp(page) {
    await page.goto(`${stack.baseUrl}/sign-up`);
    await heading(page, "Sign up");
    await page.getByLabel("E-mail").fill(`start-${fresh}@example.com`);
    await page.getByLabel("Password").fill(`a long word ${fresh}`);
    await page.getByLabel("Tenant name").fill(`Start ${fresh}`);
    await page.getByRole("button", { name: "Sign up" }).click();
    await heading(page, "Get started");
}

/** From the templates to a status 429 in two clicks and without a terminal. The rule is in shadow mode until then. */
async function inTwoClicks(page, shoot) {
    page.expectFault(/status 429: POST .*\/check/);
    page.expectFault(/console: Failed to load resource.*429.*\/check/);
    await page.getByRole("region", { name: "E-mail sending" }).getByRole("button", { name: "Try in shadow mode" }).click();
    const attempt = page.getByRole("region", { name: "Try it" });
    await attempt.getByText("It works: 10 checks allowed, and 3 more that the rule would deny. Nothing was blocked.").waitFor();
    await attempt.getByText("HTTP 200 OK").waitFor();
    await page.getByRole("region", { name: "The first decision" }).getByText("So far: 13 allowed, 0 denied.").waitFor();
    await page.getByRole("region", { name: "Your rule" }).getByText(/live on 2 of 2 gates/).waitFor();
    await page.getByRole("link", { name: "Rules live on 2/2 gates" }).waitFor();
    await page.getByRole("button", { name: "Copy key" }).waitFor();
    await shoot("start-shadow");
    await page.getByRole("button", { name: "I have saved it" }).click();
    await attempt.getByRole("button", { name: "Enforce and send again" }).click();
    await attempt.getByText("It works: 10 checks allowed, then 3 denied with status 429.").waitFor();
    await attempt.getByText("HTTP 429 Too Many Requests").waitFor();
    await attempt.getByText(/Retry-After: \d+/).waitFor();
    await page.getByRole("region", { name: "The first decision" }).getByText("So far: 10 allowed, 3 denied.").waitFor();
    await shoot("start-429");
}

async function once(page, decision) {
    const { stdout } = await run("sh", ["-c", await codeOf(page, "Copy curl code")]);
    assert.deepEqual([JSON.parse(stdout).allowed, JSON.parse(stdout).remaining], [true, 4]);
    await decision.getByText("It works: the first check arrived.").waitFor();
    await decision.getByText("So far: 1 allowed, 0 denied. 4 of 5 left for user u-17.").waitFor();
}

async function untilDenied(page) {
    const { stdout } = await run("sh", ["-c", await codeOf(page, "Copy loop")]).catch((ended) => ended);
    assert.deepEqual(stdout.trim().split("\n"), ["200", "200", "200", "200", "429"], stdout);
}

/** The programs run unchanged and report the denial, and an allowed check of another subject. */
async function otherLanguages(page) {
    const folder = await mkdtemp(join(tmpdir(), "weir-start-"));
    await page.getByRole("tab", { name: "curl" }).focus();
    for (const [language, command, file, needed] of LANGUAGES) {
        await page.keyboard.press("ArrowRight");
        if (needed && !(await isInstalled(needed))) {
            console.log(`start: ${needed[0]} is not installed, so its code was not run`);
            continue;
        }
        const code = (await codeOf(page, `Copy ${language} code`)).replace(TYPES, "");
        const path = join(folder, file);
        const execute = async (text) => {
            await writeFile(path, text);
            return (await run(command[0], [...command.slice(1), path])).stdout;
        };
        assert.match(await execute(code), /^denied, again in \d+ s\n$/, file);
        const other = code.replace('"u-17"', `"${file}"`).replace('\\"u-17\\"', `\\"${file}\\"`);
        assert.equal(await execute(other), "allowed\n", file);
    }
    await rm(folder, { recursive: true });
}

async function isInstalled([program, ...question]) {
    return run(program, question).then(() => true, (error) => error.code !== "ENOENT");
}

/** A second rule gets a number after its name, and the known key is reused. */
async function useAnotherTemplate(page) {
    await page.getByRole("button", { name: "Another template" }).click();
    await use(page, "Login protection");
    await page.getByRole("link", { name: "login-per-user-2" }).waitFor();
    await page.getByText("Saved.").waitFor();
    await page.getByRole("button", { name: "Another template" }).click();
    await use(page, "Expensive job");
    await page.getByRole("link", { name: "jobs-per-team" }).waitFor();
    const { stdout } = await run("sh", ["-c", await codeOf(page, "Copy curl code")]);
    assert.equal(JSON.parse(stdout).remaining, 80);
    await page.getByText("So far: 1 allowed, 0 denied. 80 of 100 left for team t-3").waitFor();
}

async function use(page, template) {
    await page.getByRole("region", { name: template }).getByRole("button", { name: "Create and enforce" }).click();
}

async function codeOf(page, label) {
    return page.getByRole("group", { name: label }).getByRole("code").textContent();
}

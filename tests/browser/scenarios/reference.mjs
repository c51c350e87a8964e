// The API reference: each operation of both documents has samples in five languages, those of curl run, and the pages send calls with a
// key and with the session of the dashboard. The contents are searched by keyboard, and closed on phones.
import { strict as assert } from "node:assert";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

import { api, eventually, heading, newcomer, signIn, stack, scenario, still } from "../steps.mjs";

const LANGUAGES = ["curl", "python", "typescript", "go", "rust"];
const owner = await newcomer("reference");
const limits = [{ algorithm: "fixed_window", limit: 100, window_ms: 3_600_000 }];
const create = (name) =>
    api("POST", `/tenants/${owner.tenant}/rules`, { namespace: "api", name, count_by: ["user"], limits }, owner);
await create("all-per-user");
const { id: ruleId } = await create("edited");
const key = (name, scopes) => api("POST", `/tenants/${owner.tenant}/keys`, { name, scopes }, owner);
const { secret: checks } = await key("checks", ["check"]);
const { secret: admin } = await key("admin", ["admin"]);
const ask = (gate) =>
    fetch(`${gate}/check`, {
        method: "POST",
        headers: { authorization: `Bearer ${checks}`, "content-type": "application/json" },
        body: JSON.stringify({ namespace: "api", attributes: { user: "first" } }),
    });
for (const gate of stack.gates) {
    await eventually("the gates serve the rule", async () => (await ask(gate)).headers.has("x-ratelimit-limit"));
}

await scenario("reference: each operation has a sample in each language", async ({ page }) => {
    await page.goto(`${stack.baseUrl}/docs`);
    await heading(page, "API reference");
    const links = await page.locator("#contents a").evaluateAll((all) => all.map(({ href }) => href));
    const addresses = [...new Set(links.map((link) => link.split("#")[0]))];
    const shown = { gate: new Set(), control: new Set() };
    for (const address of addresses) {
        await page.goto(address);
        for (const section of await page.locator(".operation").all()) {
            const figures = section.locator("figure");
            const languages = await figures.evaluateAll((all) => all.map(({ dataset }) => dataset.language));
            const id = await section.getAttribute("id");
            assert.deepEqual(languages, LANGUAGES, id);
            const samples = await section.locator("pre").allTextContents();
            assert.ok(samples.every((sample) => sample.trim() && !/\{\{|\}\}\}\}/.test(sample)), id);
            shown[samples[0].includes(stack.baseUrl) ? "control" : "gate"].add(id);
        }
    }
    for (const name of ["gate", "control"]) {
        const file = new URL(`../../../openapi/${name}.json`, import.meta.url);
        const { paths } = JSON.parse(await readFile(file, "utf8"));
        const ids = Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
        assert.deepEqual([...shown[name]].sort(), ids.sort(), name);
    }
});

await scenario("reference: samples and calls", async ({ page, shoot }) => {
    await page.goto(`${stack.baseUrl}/docs/`);
    await heading(page, "API reference");
    const fields = page.locator("#yours");
    const gate = fields.getByLabel("Gate", { exact: true });
    await eventually("the page knows a gate", async () => stack.gates.includes(await gate.inputValue()));
    await fields.getByLabel("Tenant").fill(owner.tenant);
    await shoot("reference");

    const sample = (id) => page.locator(`[id="${id}"] figure[data-language=curl] pre`);
    assert.equal((await curl(await sample("check").textContent(), checks)).allowed, true);
    await page.goto(`${stack.baseUrl}/docs/control-rules.html`);
    await heading(page, "Rules");
    assert.equal((await curl(await sample("rules_list").textContent(), admin)).data[0].name, "all-per-user");
    const update = page.locator("#rules_update");
    await update.getByText("Try it").click();
    await update.getByLabel("rule", { exact: true }).fill(ruleId);
    assert.equal((await curl(await sample("rules_update").textContent(), admin)).name, "exports-per-user");
    await shoot("reference-rules");

    // A call without a key and without a session says what is missing.
    const list = page.locator("#rules_list");
    await list.getByText("Try it").click();
    await list.getByRole("button", { name: "Send GET" }).click();
    await list.getByText("Enter an API key").waitFor();
    await fields.getByLabel("API key").fill(admin);
    await list.getByRole("button", { name: "Send GET" }).click();
    await list.locator(".answer").getByText("200 OK").waitFor();
    await list.locator(".answer").getByText(ruleId).waitFor();
    assert.equal(await page.evaluate(() => Object.values(localStorage).join().includes("weir_")), false, "no key is stored");

    await page.goto(`${stack.baseUrl}/docs/`);
    await fields.getByLabel("API key").fill(checks);
    const tried = page.locator("#check");
    await tried.getByText("Try it").click();
    await tried.getByRole("button", { name: "Send POST" }).click();
    await tried.locator(".answer").getByText("200 OK").waitFor();
    await tried.locator(".answer").getByText("x-ratelimit-remaining").waitFor();
    await shoot("reference-tried");

    await page.keyboard.press("/");
    await page.getByLabel("Search operations").fill("create alert");
    await page.keyboard.press("Enter");
    await heading(page, "Alerts");
    await page.locator("#alerts_create").getByRole("button", { name: "Python" }).click();
    await page.locator("#alerts_create figure[data-language=python]").waitFor();
    assert.equal(await page.locator("#alerts_create figure[data-language=curl]").isVisible(), false);
    await page.reload();
    await page.locator("#alerts_create figure[data-language=python]").waitFor();

    await page.setViewportSize({ width: 390, height: 900 });
    await still(page);
    assert.equal(await page.locator("#contents input").isVisible(), false, "the contents are closed on phones");
});

await scenario("reference: the session of the dashboard", async ({ page }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/rules` });
    // The dashboard stores the tenant that it shows.
    await page.waitForFunction(() => localStorage.getItem("weir.tenant"));
    await page.goto(`${stack.baseUrl}/docs/control-rules.html`);
    assert.equal(await page.getByLabel("Tenant").inputValue(), owner.tenant);
    const list = page.locator("#rules_list");
    await list.getByText("Try it").click();
    await list.getByRole("button", { name: "Send GET" }).click();
    await list.locator(".answer").getByText("200 OK").waitFor();
});

await scenario("reference: text without a script", async ({ page }) => {
    await page.route(/reference\.js/, (route) => route.fulfill({ contentType: "text/javascript", body: "" }));
    await page.goto(`${stack.baseUrl}/docs/`);
    assert.equal(await page.locator("#check figure").count(), LANGUAGES.length);
    assert.ok(await page.locator("#check figure[data-language=rust]").isVisible());
    assert.equal(await page.locator("#check .try").isVisible(), false);
});

/** Runs a sample of curl, and returns the JSON that it prints. */
async function curl(command, secret) {
    const { stdout } = await promisify(execFile)("sh", ["-c", command], { env: { ...process.env, WEIR_KEY: secret } });
    const answer = JSON.parse(stdout);
    assert.equal(answer.code, undefined, stdout);
    return answer;
}

// The clicks that common jobs take from their page: counted by the browser, not by this script.
import { strict as assert } from "node:assert";

import { api, check, fresh, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("hurried");
const home = `/t/${owner.tenant}`;
const name = `noisy-${fresh}`;
const limits = [{ algorithm: "fixed_window", limit: 1, window_ms: 3_600_000 }];
await api("POST", `/tenants/${owner.tenant}/rules`, { name, count_by: ["user"], limits }, owner);
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

// Denials are reported once a second, and the page reads them every five.
const SLOWLY = { timeout: 30_000 };

/** What is done, where it begins, the most clicks, and how. */
const JOBS = [
    ["see what changed", "overview", "Overview", 0, (page) => page.getByText(`Created rule ${name}`).first().waitFor(SLOWLY)],
    ["raise the limit of a denied subject for an hour", "overview", "Overview", 2, raise],
    ["find everything about a denied subject", "overview", "Overview", 1, find],
    ["delete an override", "overrides", "Overrides", 1, removeOverride],
    ["create a rule", "rules", "Rules", 3, createRule],
    ["create a rule in shadow mode", "rules", "Rules", 2, createShadowRule],
    ["create an override", "overrides", "Overrides", 2, createOverride],
    ["create an API key", "keys", "API keys", 2, createKey],
    ["invite a member", "members", "Members", 2, invite],
    ["create the first alert", "alerts", "Alerts", 5, createAlert],
    ["replay recorded checks", "what-if", "Replay", 1, (page) => button(page, "Run replay")],
];

await scenario("clicks", async ({ page }) => {
    await page.addInitScript(() => {
        const count = (event) => event.isTrusted && sessionStorage.setItem("clicks", Number(sessionStorage.getItem("clicks")) + 1);
        // Not at the window: there the driver stops clicks that would miss their target, and repeats them.
        document.addEventListener("click", count, { capture: true });
    });
    for (const user of ["u-1", "u-1", "u-1"]) await check(stack.gates[0], secret, { attributes: { user } });
    await signIn(page, { ...owner, next: `${home}/overview` });
    await heading(page, "Overview");
    for (const [job, path, title, most, run] of JOBS) {
        await page.goto(`${stack.baseUrl}${home}/${path}`);
        await heading(page, title);
        await page.evaluate(() => sessionStorage.setItem("clicks", 0));
        await run(page);
        const clicks = await page.evaluate(() => Number(sessionStorage.getItem("clicks")));
        console.log(`clicks: ${job}: ${clicks}`);
        assert.ok(clicks <= most, `${job} takes ${clicks} clicks, not ${most}`);
    }
});

function button(page, label) {
    return page.getByRole("button", { name: label, exact: true }).click();
}

async function raise(page) {
    const denials = page.getByRole("region", { name: "Latest denials" });
    await denials.getByRole("button", { name: `Actions for user u-1 in ${name}` }).click(SLOWLY);
    await page.getByRole("menuitem", { name: "Raise limits ×2 for 1 h" }).click();
    await page.getByText(`Limits of user u-1 in ${name} raised ×2 for 1 h`).waitFor(SLOWLY);
}

async function find(page) {
    const denials = page.getByRole("region", { name: "Latest denials" });
    await denials.getByRole("link", { name: "user u-1" }).first().click(SLOWLY);
    await heading(page, "user u-1");
}

async function removeOverride(page) {
    await button(page, "Delete override of user u-1");
    await page.getByText("No overrides yet").waitFor();
}

async function createRule(page) {
    await page.getByRole("link", { name: "New rule" }).click();
    await page.getByLabel("Name", { exact: true }).fill(`new-${fresh}`);
    await button(page, "Review changes");
    await button(page, "Publish");
    await heading(page, `new-${fresh}`);
}

async function createShadowRule(page) {
    await page.getByRole("link", { name: "New rule" }).click();
    await page.getByLabel("Name", { exact: true }).fill(`shadow-${fresh}`);
    await button(page, "Save as shadow");
    await heading(page, `shadow-${fresh}`);
}

async function createOverride(page) {
    await button(page, "New override");
    const dialog = page.getByRole("dialog", { name: "New override" });
    await dialog.getByLabel("Rule", { exact: true }).selectOption({ label: `default / ${name}` });
    await dialog.getByLabel("Subject: user").fill("u-2");
    await dialog.getByLabel("Effect").selectOption({ label: "Allow" });
    await button(page, "Save override");
    await page.getByRole("row", { name: /user u-2/ }).waitFor();
}

async function createKey(page) {
    await button(page, "New key");
    await page.getByLabel("Name", { exact: true }).fill(`key-${fresh}`);
    await button(page, "Create key");
    await page.getByRole("button", { name: "I have saved it" }).waitFor();
}

async function invite(page) {
    await button(page, "Invite a member");
    await page.getByLabel("E-mail").fill(`invited-${fresh}@example.com`);
    await button(page, "Invite");
    await page.getByText(`invited-${fresh}@example.com`).first().waitFor();
}

/** An alert needs a webhook, and the dialog shows the secret of the webhook once. */
async function createAlert(page) {
    await button(page, "New webhook");
    await page.getByLabel("Webhook name").fill("on call");
    await page.getByLabel("URL").fill("https://hooks.example.com/weir");
    await button(page, "Create webhook");
    await button(page, "I have saved it");
    await button(page, "New alert");
    await page.getByLabel("Name", { exact: true }).fill("many denials");
    await button(page, "Create alert");
    await page.getByRole("region", { name: "Alerts" }).getByText("many denials").waitFor();
}

// The namespace filter: chosen once, it goes from page to page in the URL, and each page shows that namespace alone.
import { strict as assert } from "node:assert";

import { api, check, eventually, heading, loaded, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("spacer");
const home = `/tenants/${owner.tenant}`;
const limits = [{ algorithm: "sliding_window_log", limit: 1, window_ms: 3_600_000 }];

await scenario("namespaces", async ({ page, shoot }) => {
    for (const [namespace, name] of [["api", "login"], ["jobs", "export"]]) await prepare(namespace, name);
    await eventually("both subjects are counted", async () => {
        const { data } = await api("GET", `${home}/stats/top?by=subject`, undefined, owner);
        return data.length === 2;
    });
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/overview` });
    await heading(page, "Overview");
    await namesUnmatched(page);
    await shoot("namespaces-unmatched");
    const subjects = page.getByRole("region", { name: "Most denied subjects" });
    await subjects.getByRole("link", { name: "user u-jobs" }).waitFor();
    await page.getByRole("combobox", { name: "Namespace" }).selectOption("api");
    await subjects.getByRole("link", { name: "user u-jobs" }).waitFor({ state: "detached" });
    await subjects.getByRole("link", { name: "user u-api" }).waitFor();
    await eventually("no other rules are shown", async () => (await page.getByRole("link", { name: "export" }).count()) === 0);
    await page.getByText("Checks per second, all namespaces").waitFor();
    await shoot("namespaces-overview");

    await open(page, "Live");
    await page.getByText("Rates and chart are of all namespaces").waitFor();
    await open(page, "Subjects");
    await page.getByRole("link", { name: "user u-api" }).first().waitFor();
    await eventually("no other subjects are shown", async () => (await page.getByRole("link", { name: "user u-jobs" }).count()) === 0);
    await open(page, "Overrides");
    await page.getByText("1 override", { exact: true }).waitFor();
    await page.getByRole("row", { name: "user vip-api" }).waitFor();
    await shoot("namespaces-overrides");
    await open(page, "Replay");
    await offers(page, "api / login");
    await page.getByRole("combobox", { name: "Namespace" }).selectOption("jobs");
    await offers(page, "jobs / export");
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Simulate" }).click();
    await heading(page, "Simulate");
    assert.equal(await page.getByRole("combobox", { name: "Namespace" }).inputValue(), "jobs");
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await page.getByText("1 of 2 rules").waitFor();
    await clears(page);
});

/** A rule, an override and two checks of which the second is denied. */
async function prepare(namespace, name) {
    const rule = await api("POST", `${home}/rules`, { namespace, name, count_by: ["user"], limits }, owner);
    const subject = { user: `vip-${namespace}` };
    await api("POST", `${home}/overrides`, { rule_id: rule.id, subject, action: "allow" }, owner);
    const { secret } = await api("POST", `${home}/keys`, { name, scopes: ["check"] }, owner);
    const body = { namespace, attributes: { user: `u-${namespace}` } };
    for (const allowed of [true, false]) assert.equal((await check(stack.gates[0], secret, body)).allowed, allowed);
    // Nothing counts these: the attribute is missing, and the name of the namespace is misspelled.
    for (const unmatched of [{ namespace, attributes: { usr: "u" } }, { namespace: `${namespace}x`, attributes: body.attributes }]) {
        assert.deepEqual((await check(stack.gates[0], secret, unmatched)).limits, []);
    }
}

/** Overview and rules name the checks that met no rule, with the reasons; the sentence leads to the tester. */
async function namesUnmatched(page) {
    const section = page.getByRole("region", { name: "Checks that met no rule" });
    const sentences = ["api: 1 check (33%) met no rule: attribute user was missing in 1.", "apix: 1 check met no rule: the namespace had no rules."];
    for (const sentence of sentences) await section.getByText(sentence).waitFor();
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    for (const sentence of sentences) await section.getByText(sentence).waitFor();
    await section.getByRole("link", { name: "Simulate a request" }).first().click();
    await heading(page, "Simulate");
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await heading(page, "Overview");
}

/** The choice of rules has this one alone. */
async function offers(page, rule) {
    const rules = page.getByLabel("Rule", { exact: true }).locator("option");
    await eventually(`only ${rule} is offered`, async () => (await rules.allTextContents()).join() === rule);
}

/** Opens a page, which takes over the namespace. */
async function open(page, name) {
    await page.getByRole("link", { name, exact: true }).click();
    await heading(page, name);
    await loaded(page);
    await eventually("the URL has the namespace", () => new URL(page.url()).searchParams.get("namespace") === "api");
    assert.equal(await page.getByRole("combobox", { name: "Namespace" }).inputValue(), "api");
}

/** A filter without matches can be cleared. */
async function clears(page) {
    const { data } = await api("GET", `${home}/rules?namespace=api`, undefined, owner);
    await page.goto(`${stack.baseUrl}/t/${owner.tenant}/overrides?rule=${data[0].id}&namespace=jobs`);
    await page.getByText("No matching overrides").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("2 overrides", { exact: true }).waitFor();
    await eventually("the URL has no filter", () => new URL(page.url()).search === "");
}

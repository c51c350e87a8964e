// Choosing among many rules: pages load one page of rules and those they refer to, never all. Others are found by a search on
// the server, with the keyboard only.
import { strict as assert } from "node:assert";

import { api, fresh, heading, loaded, newcomer, signIn, scenario } from "../steps.mjs";

const COUNT = 230;
const AT_ONCE = 2;
const owner = await newcomer("chooser");
const home = `/tenants/${owner.tenant}`;
const rules = await makeRules();
const last = rules[COUNT - 1];
await prepare();

await scenario("choosing among many rules", async ({ page, shoot }) => {
    const asked = [];
    page.on("request", (request) => {
        const url = new URL(request.url());
        if (url.pathname.endsWith("/rules")) asked.push(url);
    });
    /** Asserts on the requests since the last call: no further pages, and at most `atMost` requests. */
    const fetched = (atMost) => {
        const all = asked.splice(0);
        assert.ok(all.every((url) => !url.searchParams.has("cursor")), "no page after the first");
        assert.ok(all.length <= atMost, `rules were asked for ${all.length} times`);
    };
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/overrides` });
    await overrides(page, shoot, fetched);
    await whatIf(page, shoot, fetched);
    await alerts(page, shoot, fetched);
});

async function overrides(page, shoot, fetched) {
    await heading(page, "Overrides");
    const table = page.getByRole("region", { name: "Overrides" });
    await table.getByRole("link", { name: last.name }).waitFor();
    fetched(2);
    await shoot("rule-picker-overrides");

    const ofRule = page.getByRole("combobox", { name: "Rule" });
    assert.equal(await ofRule.inputValue(), "Any rule");
    await page.getByText("More than 200 rules. Type to search.").first().waitFor();
    await pick(page, ofRule, "space-7 / rule-00227", "space-7 / rule-00227");
    await page.getByText("No matching overrides").waitFor();
    await ofRule.focus();
    await page.keyboard.type("nothing like it");
    await page.getByText("No matching rules").waitFor();
    assert.equal(await ofRule.getAttribute("aria-expanded"), "false");
    await page.keyboard.press("Escape");
    assert.equal(await ofRule.inputValue(), "space-7 / rule-00227", "what was chosen stays");
    await ofRule.click();
    await page.getByRole("option", { name: "Any rule" }).click();
    await table.getByRole("link", { name: last.name }).waitFor();

    await page.getByRole("button", { name: "New override" }).click();
    const rule = page.locator("form").getByRole("combobox", { name: "Rule", exact: true });
    assert.equal(await rule.inputValue(), "space-0 / rule-00000");
    await rule.focus();
    await page.keyboard.type("rule-0022");
    await page.getByText("10 found").waitFor();
    await page.keyboard.press("ArrowDown");
    await shoot("rule-picker-open");
    await page.keyboard.press("Enter");
    assert.equal(await rule.inputValue(), "space-1 / rule-00221");
    await page.getByLabel("Subject: user").fill("u-2");
    await page.getByRole("group", { name: "Limit" }).getByRole("textbox", { name: "Limit", exact: true }).fill("4321");
    await page.getByRole("button", { name: "Save override" }).click();
    await table.getByRole("link", { name: "rule-00221" }).waitFor();
    fetched(30);
}

async function whatIf(page, shoot, fetched) {
    await page.goto(new URL(`/t/${owner.tenant}/what-if?rule=${last.id}`, page.url()).href);
    await heading(page, "Replay");
    const rule = page.getByRole("combobox", { name: "Rule" });
    await rule.waitFor();
    assert.equal(await rule.inputValue(), `${last.namespace} / ${last.name}`, "the one of the address");
    assert.equal(await page.getByRole("textbox", { name: "Limit", exact: true }).inputValue(), String(COUNT));
    fetched(2);
    await pick(page, rule, "00219", "space-9 / rule-00219");
    assert.equal(await page.getByRole("textbox", { name: "Limit", exact: true }).inputValue(), "220");
    await shoot("rule-picker-what-if");
    fetched(10);
}

async function alerts(page, shoot, fetched) {
    await page.getByRole("link", { name: "Alerts", exact: true }).click();
    await heading(page, "Alerts");
    await loaded(page);
    const row = page.getByRole("row", { name: "too many" });
    await row.getByText(`decisions of ${last.namespace} / ${last.name}`).waitFor();
    fetched(3);
    await page.getByRole("button", { name: "New alert" }).click();
    const of = page.getByRole("combobox", { name: "Scope", exact: true });
    assert.equal(await of.inputValue(), "All checks");
    await pick(page, of, "space-9", "namespace space-9");
    await page.getByText("of at least 100 checks in space-9 are denied").waitFor();
    await pick(page, of, "rule-00218", "rule space-8 / rule-00218");
    await page.getByText("decisions of space-8 / rule-00218 are denied").waitFor();
    await shoot("rule-picker-alerts");
    fetched(30);
    await page.getByRole("dialog", { name: "New alert" }).getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Edit too many" }).click();
    await page.getByRole("dialog", { name: "Change too many" }).waitFor();
    assert.equal(await of.inputValue(), `rule ${last.namespace} / ${last.name}`);
}

/** Types a text and chooses the first result. */
async function pick(page, field, typed, wanted) {
    await field.focus();
    await page.keyboard.type(typed);
    await page.getByRole("option", { selected: true, name: wanted, exact: true }).waitFor();
    await page.keyboard.press("Enter");
    assert.equal(await field.inputValue(), wanted);
    assert.equal(await field.getAttribute("aria-expanded"), "false");
}

async function makeRules() {
    const made = [];
    let next = 0;
    const make = async () => {
        while (next < COUNT) {
            const at = next++;
            made[at] = await api("POST", `${home}/rules`, rule(at), owner);
        }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, make));
    return made;
}

function rule(at) {
    return {
        namespace: `space-${at % 10}`,
        name: `rule-${String(at).padStart(5, "0")}`,
        count_by: ["user"],
        limits: [{ algorithm: "fixed_window", limit: at + 1, window_ms: 60000 }],
    };
}

/** An override and an alert of the last rule, which is not on the first page. */
async function prepare() {
    await api("POST", `${home}/overrides`, { rule_id: last.id, subject: { user: "u-1" }, action: "allow" }, owner);
    const hook = { name: `hook-${fresh}`, url: "https://hooks.example.com/weir" };
    const { webhook } = await api("POST", `${home}/webhooks`, hook, owner);
    const alert = { name: "too many", webhook_id: webhook.id, kind: "denial_share", rule_id: last.id };
    await api("POST", `${home}/alerts`, { ...alert, share_percent: 20, window_s: 300, checks_min: 100 }, owner);
}

// Names of maximum length and subjects written from right to left: the layout of every page holds, and table rows stay within
// a few lines of text.
import { strict as assert } from "node:assert";

import { api, check, eventually, fresh, heading, loaded, newcomer, signIn, stack, scenario, walk } from "../steps.mjs";

const LINE_PX = 160;
const name = `${"long-".repeat(12)}${fresh}`.slice(0, 63);
const owner = await newcomer("a-person-with-a-rather-long-address", `Tenant ${name}`);
const home = `/tenants/${owner.tenant}`;
const users = ["u".repeat(120), "עדה-לאבלייס@דוגמה", "مستخدم-طويل-الاسم-جدا@مثال"];

await scenario("long names", async ({ page, shoot }) => {
    await prepare();
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/rules` });
    await walk(page, async (title) => {
        await shoot(`long-names-${title.toLowerCase().replaceAll(" ", "-")}`);
    });
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await heading(page, "Overview");
    const denials = page.getByRole("region", { name: "Latest denials" });
    for (const user of users) await denials.getByText(`user ${user}`).first().waitFor();
    for (const table of ["Latest denials", "Most denied subjects"]) await low(page, table);
    await denials.getByRole("link", { name }).first().click();
    await heading(page, name);
    await loaded(page);
    await low(page, "Latest denials");
    await shoot("long-names-rule");
    await page.getByRole("link", { name: "Overrides", exact: true }).click();
    await heading(page, "Overrides");
    await page.getByRole("button", { name: `Edit override of user ${users[1]}` }).click();
    assert.equal(await page.getByLabel("Subject: user").inputValue(), users[1]);
    await shoot("long-names-override");
});

async function prepare() {
    const limits = [{ algorithm: "sliding_window_log", limit: 1, window_ms: 3_600_000 }];
    const body = { namespace: name, name, description: "مرحبا ".repeat(20), count_by: ["user"], limits };
    const rule = await api("POST", `${home}/rules`, body, owner);
    for (const user of users) {
        const override = { rule_id: rule.id, subject: { user: user === users[0] ? "*" : user }, limits, reason: "سبب" };
        await api("POST", `${home}/overrides`, override, owner);
    }
    const { secret } = await api("POST", `${home}/keys`, { name, scopes: ["check"] }, owner);
    const hook = { name, url: `https://hooks.example.com/${"h".repeat(200)}` };
    const { webhook } = await api("POST", `${home}/webhooks`, hook, owner);
    const alert = { name, webhook_id: webhook.id, kind: "denial_share", rule_id: rule.id };
    await api("POST", `${home}/alerts`, { ...alert, share_percent: 20, window_s: 300, checks_min: 100 }, owner);
    for (const user of users) {
        const refused = async () => !(await check(stack.gates[0], secret, { namespace: name, attributes: { user } })).allowed;
        assert.ok(!(await refused()) && (await refused()), `one check of ${user} is allowed`);
    }
    const reported = async () => (await api("GET", `${home}/stats/denials`, undefined, owner)).data.length === users.length;
    await eventually("denials are reported", reported);
}

async function low(page, region) {
    const rows = page.getByRole("region", { name: region }).getByRole("row");
    for (const row of await rows.all()) {
        const { height } = await row.boundingBox();
        assert.ok(height <= LINE_PX, `a line of ${region} is ${height} pixels high`);
    }
}

// The units that subjects have used of their quotas, in the present period and in an earlier month, and the CSV of it.
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";

import { api, check, heading, newcomer, runSql, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("metering");
const home = `/tenants/${owner.tenant}`;
const limits = [{ algorithm: "quota", limit: 10, period: "month" }];
// Gates write the subjects every ten seconds.
const LATER = { timeout: 60_000 };

await scenario("usage", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/usage` });
    await heading(page, "Usage");
    await page.getByText("No usage of quotas").waitFor();
    await shoot("usage-nothing");
    await consumes();
    await lists(page, shoot);
    await saves(page);
    await choosesAMonth(page, shoot);
});

async function consumes() {
    await api("POST", `${home}/rules`, { namespace: "api", name: "monthly", count_by: ["customer"], limits }, owner);
    const key = await api("POST", `${home}/keys`, { name: "metering", scopes: ["check"] }, owner);
    for (const [customer, cost] of [["acme", 4], ["globex", 9], ["globex", 5]]) {
        await check(stack.gates[0], key.secret, { namespace: "api", attributes: { customer }, cost });
    }
}

/** The page has the units of the counters: a denied check uses none. */
async function lists(page, shoot) {
    const row = (customer) => page.getByRole("row", { name: `customer ${customer}` });
    const loaded = async () => {
        await page.reload();
        await heading(page, "Usage");
        await page.getByText(/Used units are exact\./).waitFor();
        return (await row("globex").count()) > 0;
    };
    const ends = Date.now() + LATER.timeout;
    while (!(await loaded())) assert.ok(Date.now() < ends, "the subjects are listed");
    const cells = async (customer) => (await row(customer).getByRole("cell").allTextContents()).slice(4, 7);
    assert.deepEqual(await cells("acme"), ["4", "10", "40%"]);
    assert.deepEqual(await cells("globex"), ["9", "10", "90%"]);
    await page.getByRole("columnheader", { name: "Share" }).getByRole("button").click();
    await shoot("usage");
    const names = await page.getByRole("region", { name: "Usage" }).getByRole("link", { name: /^customer/ }).allTextContents();
    assert.deepEqual(names, ["customer globex", "customer acme"]);
}

async function saves(page) {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "View of Usage" }).click();
    await page.getByRole("menuitem", { name: "Export CSV" }).click();
    const lines = (await readFile(await (await download).path(), "utf8")).trimEnd().split("\r\n");
    assert.equal(lines[0], "Rule,Subject,From,To,Used,Limit,Share,Overage,Counted until,Denied checks");
    assert.match(lines[1], /^api \/ monthly,customer globex,\d{4}-\d\d-01T00:00:00\S*Z,\S+Z,9,10,90%,,,1$/);
    assert.match(lines[2], /^api \/ monthly,customer acme,\S+Z,\S+Z,4,10,40%,,,0$/);
}

/** Ended periods of the last month: one with all of its units, and one that was read before its end. */
async function choosesAMonth(page, shoot) {
    const now = new Date();
    const [from, to] = [-1, 0].map((months) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1)).toISOString());
    const row = (key, customer, used, until) => `((SELECT id FROM tenant), gen_random_uuid(), 0, '\\x${key.repeat(32)}', 0, 'api', 'monthly',
        '{"customer": "${customer}"}', 'month', '${from.slice(0, 10)}', '${from}', '${to}', ${used}, 10, timestamptz '${to}' - interval '${until}')`;
    await runSql(`WITH tenant AS (SELECT tenant_id AS id FROM rules WHERE name = 'monthly' AND tenant_id IN (
        SELECT m.tenant_id FROM memberships m JOIN users u ON u.id = m.user_id WHERE u.email = '${owner.email}'))
        INSERT INTO quota_periods (tenant_id, rule_id, slot, subject_key, spread, namespace, rule, subject, period, starts_on, period_start,
            period_end, used, unit_limit, counted_until)
        VALUES ${row("1", "acme", 14, "0")}, ${row("2", "globex", 3, "3 seconds")}`);
    await page.reload();
    await heading(page, "Usage");
    await page.getByLabel("Period").selectOption(from.slice(0, 7));
    await page.getByText(/Listed are ended periods/).waitFor();
    const cells = async (customer) => {
        const row = page.getByRole("row", { name: `customer ${customer}` });
        await row.getByText(customer === "acme" ? "14" : "3", { exact: true }).waitFor();
        return (await row.getByRole("cell").allTextContents()).slice(4);
    };
    assert.deepEqual(await cells("acme"), ["14", "10", "140%", "4", "the end", "–"]);
    const [used, limit, share, overage, until] = await cells("globex");
    assert.deepEqual([used, limit, share, overage], ["3", "10", "30%", "0"]);
    assert.match(until, /:59:57/);
    await shoot("usage-month");
}

// The tester: every rule of a namespace shows whether it matches or which condition failed, and nothing is counted.
import { strict as assert } from "node:assert";

import { api, check, eventually, fresh, heading, signIn, stack, scenario } from "../steps.mjs";

const namespace = `test-${fresh}`;
const limits = [{ algorithm: "fixed_window", limit: 2, window_ms: 86_400_000 }];
const rules = [
    { name: "per-user", count_by: ["user"], limits },
    { name: "login-only", match: [{ attribute: "route", op: "equals", value: "/login" }], limits },
    { name: "per-customer", count_by: ["customer"], limits },
    { name: "no-bots", match: [{ attribute: "agent", op: "prefix", value: "bot" }], action: "deny" },
    { name: "watched", count_by: ["user"], mode: "shadow", limits },
];

await scenario("tester", async ({ page, shoot }) => {
    for (const rule of rules) await api("POST", `/tenants/${stack.tenant}/rules`, { namespace, ...rule });
    const asked = new URLSearchParams({ namespace, attributes: JSON.stringify({ user: "u-1", agent: "bot/2" }) });
    const next = `/t/${stack.tenant}/test?${asked}`;
    await signIn(page, { next });
    await heading(page, "Simulate");
    const test = page.getByRole("region", { name: "Simulation" });
    await test.getByText("by no-bots").waitFor();
    const row = (rule) => test.getByRole("row").filter({ hasText: rule });
    const says = (rule, text) => row(rule).getByText(text).waitFor();
    await says("per-user", "user u-1");
    await says("per-user", "2 of 2 left");
    await says("login-only", "No: route is /login (missing)");
    await says("per-customer", "No: customer is missing, and the rule counts by it");
    await says("no-bots", "always denied");
    await says("watched", "Shadow");
    await shoot("test");

    await page.getByRole("group", { name: "Attribute" }).filter({ has: page.getByText("Remove") }).first().getByRole("button").click();
    await page.getByLabel("Value").first().press("Enter");
    await test.getByText("Would be allowed").waitFor();
    const { searchParams } = new URL(page.url());
    assert.deepEqual(JSON.parse(searchParams.get("attributes")), { user: "u-1" });
    await takeDenial(page, test);
    await hidesTheKey(page);
    await test.getByRole("link", { name: "login-only" }).click();
    await heading(page, "login-only");
    await page.getByRole("main").getByRole("link", { name: "Simulate" }).first().click();
    await heading(page, "Simulate");
    await says("login-only", "2 of 2 left");
    await page.goBack();
    await heading(page, "login-only");
    await page.goBack();
    await heading(page, "Simulate");
    await test.getByText("Would be denied").waitFor();
});

/** The denial of a rule with a condition and a cost: the tester takes both over and finds the same result. */
async function reproduces(page, test, secret) {
    const priced = { namespace: `priced-${fresh}`, name: "priced", count_by: ["user"] };
    priced.match = [{ attribute: "route", op: "equals", value: "/export" }];
    priced.limits = [{ algorithm: "fixed_window", limit: 30, window_ms: 86_400_000 }];
    const { id } = await api("POST", `/tenants/${stack.tenant}/rules`, priced);
    const body = { namespace: priced.namespace, attributes: { user: "u-1", route: "/export" }, cost: 20 };
    for (const allowed of [true, false]) assert.equal((await check(stack.gates[0], secret, body)).allowed, allowed);
    await eventually("the denial is reported", async () => {
        const { data } = await api("GET", `/tenants/${stack.tenant}/stats/denials?rule_id=${id}`);
        return data.length > 0;
    });
    await page.goto(`${stack.baseUrl}/t/${stack.tenant}/rules/${id}`);
    await page.getByRole("region", { name: "Latest denials" }).getByRole("link", { name: "Simulate" }).click();
    await heading(page, "Simulate");
    await test.getByText("Would be denied").waitFor();
    await test.getByText("Rebuilt from a denial").waitFor();
    assert.equal(await page.getByLabel("Cost").inputValue(), "20");
    assert.deepEqual(JSON.parse(new URL(page.url()).searchParams.get("attributes")), body.attributes);
    await page.goBack();
    await heading(page, "priced");
    await page.goBack();
    await heading(page, "Simulate");
}

/** The command on screen names a variable in place of the key. */
async function hidesTheKey(page) {
    await page.getByLabel("API key").fill("weir_secret");
    const command = page.getByRole("group", { name: "Copy command", exact: true });
    await command.getByText("$WEIR_KEY").waitFor();
    assert.equal((await command.textContent()).includes("weir_secret"), false);
    await page.getByRole("button", { name: "Copy command with the key" }).waitFor();
    await page.getByLabel("API key").fill("");
}

/** A recent denial is offered and fills in the request. */
async function takeDenial(page, test) {
    const { secret } = await api("POST", `/tenants/${stack.tenant}/keys`, { name: `test ${fresh}`, scopes: ["check"] });
    const denied = `denied-${fresh}`;
    const attributes = { user: denied };
    const answers = [];
    for (let at = 0; at < 3; at += 1) answers.push(await check(stack.gates[0], secret, { namespace, attributes }));
    assert.equal(answers.at(-1).allowed, false, "the limit is two");
    await eventually("the denial is reported", async () => {
        const { data } = await api("GET", `/tenants/${stack.tenant}/stats/denials?limit=10`);
        return data.some(({ subject }) => subject.user === denied);
    });
    await reproduces(page, test, secret);
    await page.getByText("Start from a recent denial").click();
    await page.getByRole("link", { name: `user ${denied}` }).first().click();
    await test.getByText("Would be denied").waitFor();
    assert.equal(await page.getByLabel("Value").inputValue(), denied);
}

// The cards of gates: an operator sees what each gate does, also as a member of no tenant; other people do not; and a gate that stops
// to report has gaps.
import { strict as assert } from "node:assert";

import { api, check, eventually, fresh, heading, makeOperator, newcomer, signIn, signOut, stack, scenario } from "../steps.mjs";

const owner = await newcomer("gates");
const operator = await newcomer("gatekeeper", `Gates ${fresh}`);
await makeOperator(operator);
const outsider = await newcomer("outsider", `Outside ${fresh}`);
await makeOperator(outsider);
await api("DELETE", `/tenants/${outsider.tenant}`, { name: `Outside ${fresh}` }, outsider);

await scenario("gates", async ({ page, shoot }) => {
    const stop = await traffic();
    try {
        await signIn(page, { ...operator, next: `/t/${operator.tenant}/gates` });
        await heading(page, "Gates");
        await load(page, shoot);
        await changes(page);
        await silent(page, shoot);
        await signOut(page);
        await signIn(page, { ...owner, next: `/t/${owner.tenant}/gates` });
        await heading(page, "Gates");
        await withoutLoad(page);
        await page.goto(`${stack.baseUrl}/operator/gates`);
        await heading(page, "Page not found");
        await page.goto(`${stack.baseUrl}/t/${owner.tenant}/gates`);
        await heading(page, "Gates");
        await signOut(page);
        await ofInstallation(page, shoot);
    } finally {
        await stop();
    }
});

/** Sends checks to all gates until it is stopped. Half of them are denied. */
async function traffic() {
    const rule = { name: "blocked", count_by: [], action: "deny", match: [{ attribute: "user", op: "equals", value: "eve" }] };
    await api("POST", `/tenants/${operator.tenant}/rules`, rule, operator);
    const { secret } = await api("POST", `/tenants/${operator.tenant}/keys`, { name: "load", scopes: ["check"] }, operator);
    let stopped = false;
    await check(stack.gates[0], secret, { attributes: { user: "eve" } });
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const send = async (gate) => {
        for (let sent = 0; !stopped; sent += 1) {
            const body = JSON.stringify({ attributes: { user: sent % 2 ? "eve" : "ada" } });
            await fetch(`${gate}/check`, { method: "POST", headers, body }).then((answer) => answer.text());
            await new Promise((resume) => setTimeout(resume, 20));
        }
    };
    const senders = stack.gates.map(send);
    return () => {
        stopped = true;
        return Promise.all(senders);
    };
}

async function load(page, shoot) {
    for (const card of await cards(page)) {
        await card.getByText("Up to date").waitFor();
        await card.getByText(/^[\d.]+ per second, \d+% denied$/).waitFor();
        await card.getByText(/^p50 [\d.]+ [mµ]s, p99 [\d.]+ [mµ]s$/).waitFor();
        await card.getByText(/^[\d.]+ MiB$/).waitFor();
        await card.getByText(/^Checks of all tenants in the [\d.]+ s before the last heartbeat$/).waitFor();
    }
    await shoot("gates-load");
}

/** The last report of a gate is old: what it did then is not what it does now. Another serves the rules, but without Redis. */
async function silent(page, shoot) {
    await page.route(/\/replicas$/, async (route) => {
        const answer = await route.fetch();
        const body = await answer.json();
        body.data[0].age_ms = 12_000;
        body.data[1].redis_up = false;
        await route.fulfill({ response: answer, json: body });
    });
    await page.reload();
    await heading(page, "Gates");
    const [first, second] = await cards(page);
    await first.getByText("Silent").waitFor();
    await first.getByText("12 s ago").first().waitFor();
    assert.equal(await first.getByText("–", { exact: true }).count(), 6, "no figure is shown");
    await second.getByText("Up to date, no Redis", { exact: true }).waitFor();
    await shoot("gates-silent");
    await page.unrouteAll({ behavior: "wait" });
}

/** A rollout names what changed, and links to it. */
async function changes(page) {
    const rollout = page.getByRole("region", { name: "Rollouts" }).getByRole("row").filter({ hasText: "Created rule blocked" });
    await rollout.getByRole("link", { name: "Created rule blocked" }).click();
    await heading(page, "blocked");
    await page.waitForURL(/\?tab=history/);
    await page.goBack();
    await heading(page, "Gates");
}

async function withoutLoad(page) {
    for (const card of await cards(page)) {
        await card.getByText("Last heartbeat").waitFor();
        assert.equal(await card.getByText("per second").count(), 0, "it concerns other tenants");
        assert.equal(await card.getByText("Memory").count(), 0);
    }
}

/** An operator without a tenant finds the gates, with the changes of all tenants. */
async function ofInstallation(page, shoot) {
    await signIn(page, { ...outsider, next: "/tenants" });
    await page.getByText("You are not a member of any tenant yet").waitFor();
    await shoot("tenants-of-operator");
    await page.getByRole("link", { name: "Gates: state, rollouts and load" }).click();
    await heading(page, "Gates");
    const all = await cards(page);
    for (const card of all) {
        await card.getByText("Up to date").waitFor();
        await card.getByText(/^[\d.]+ per second, \d+% denied$/).waitFor();
    }
    await page.getByText(`${all.length} of ${all.length}`, { exact: true }).waitFor();
    await page.getByText("Checks per second", { exact: true }).waitFor();
    const rollouts = page.getByRole("region", { name: "Rollouts" });
    const before = await newest(rollouts);
    await api("POST", `/tenants/${owner.tenant}/keys`, { name: "another", scopes: ["check"] }, owner);
    await eventually("the change is listed", async () => (await newest(rollouts)) > before);
    assert.equal(await rollouts.getByText("another").count(), 0, "what changed is not shown");
    await shoot("operator-gates");
    await page.getByRole("link", { name: "Operator", exact: true }).click();
    await heading(page, "Operator");
    await page.getByRole("link", { name: "Gates", exact: true }).click();
    await heading(page, "Gates");
}

/** The version of the newest change. */
async function newest(rollouts) {
    const cell = rollouts.getByRole("row").nth(1).getByRole("cell").nth(1);
    return Number((await cell.textContent()).replaceAll(",", ""));
}

async function cards(page) {
    const list = page.getByRole("list", { name: "Gates" });
    await list.getByRole("listitem").nth(1).waitFor();
    const all = await list.getByRole("listitem").all();
    assert.equal(all.length, stack.gates.length);
    return all;
}

// The cards of gates: an operator sees what each gate does, other people do not, and a gate that stops to report has gaps.
import { strict as assert } from "node:assert";

import { api, check, fresh, heading, makeOperator, newcomer, signIn, signOut, stack, scenario } from "../steps.mjs";

const owner = await newcomer("gates");
const operator = await newcomer("gatekeeper", `Gates ${fresh}`);
await makeOperator(operator);

await scenario("gates", async ({ page, shoot }) => {
    const stop = await traffic();
    try {
        await signIn(page, { ...operator, next: `/t/${operator.tenant}/gates` });
        await heading(page, "Gates");
        await load(page, shoot);
        await silent(page, shoot);
        await signOut(page);
        await signIn(page, { ...owner, next: `/t/${owner.tenant}/gates` });
        await heading(page, "Gates");
        await withoutLoad(page);
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

/** The last report of a gate is old: what it did then is not what it does now. */
async function silent(page, shoot) {
    await page.route(/\/replicas$/, async (route) => {
        const answer = await route.fetch();
        const body = await answer.json();
        body.data[0].age_ms = 12_000;
        await route.fulfill({ response: answer, json: body });
    });
    await page.reload();
    await heading(page, "Gates");
    const [first, second] = await cards(page);
    await first.getByText("Silent").waitFor();
    await first.getByText("12 s ago").waitFor();
    assert.equal(await first.getByText("–", { exact: true }).count(), 6, "no figure is shown");
    await second.getByText("Up to date").waitFor();
    await shoot("gates-silent");
    await page.unrouteAll({ behavior: "wait" });
}

async function withoutLoad(page) {
    for (const card of await cards(page)) {
        await card.getByText("Last heartbeat").waitFor();
        assert.equal(await card.getByText("per second").count(), 0, "it concerns other tenants");
        assert.equal(await card.getByText("Memory").count(), 0);
    }
}

async function cards(page) {
    const list = page.getByRole("list", { name: "Gates" });
    await list.getByRole("listitem").nth(1).waitFor();
    const all = await list.getByRole("listitem").all();
    assert.equal(all.length, stack.gates.length);
    return all;
}

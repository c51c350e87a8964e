// A denied subject is found from a denial, raised for an hour within three clicks, undone, reset and blocked.
import { strict as assert } from "node:assert";

import { api, check, colleague, fresh, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("supporter");
const home = `/t/${owner.tenant}`;
const limit = (most) => ({ algorithm: "sliding_window_log", limit: most, window_ms: 3_600_000 });
const [name, other] = [`login-${fresh}`, `search-${fresh}`];
await api("POST", `/tenants/${owner.tenant}/rules`, { name, count_by: ["user"], limits: [limit(3)] }, owner);
await api("POST", `/tenants/${owner.tenant}/rules`, { name: other, mode: "shadow", count_by: ["user"], limits: [limit(10)] }, owner);
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

// Denials are reported once a second, and the page reads them every five.
const SLOWLY = { timeout: 30_000 };
const allowed = async () => (await check(stack.gates[0], secret, { attributes: { user: "u-1" } })).allowed;

await scenario("subjects", async ({ page, shoot }) => {
    for (const expected of [true, true, true, false, false]) assert.equal(await allowed(), expected);
    await signIn(page, { ...owner, next: `${home}/overview` });
    await heading(page, "Overview");
    await raiseFromDenial(page);
    assert.equal(await allowed(), true, "the limit is 6");

    await page.getByRole("region", { name: "Most denied subjects" }).getByRole("link", { name: "user u-1" }).first().click(SLOWLY);
    await heading(page, "user u-1");
    const card = page.getByRole("article", { name: `${name} in default` });
    await card.getByText("2 of 6 left").waitFor(SLOWLY);
    await card.getByText("Override", { exact: true }).waitFor();
    await page.getByRole("article", { name: `${other} in default` }).getByText("4 of 10 left").waitFor();
    await page.getByRole("region", { name: "Latest denials" }).getByText("user u-1").first().waitFor(SLOWLY);
    await page.getByText(/^From the newest 2 log entries: .*\d\d:\d\d:\d\d\.$/).waitFor();

    await page.getByRole("status", { name: "Notifications" }).getByRole("button", { name: "Undo" }).click();
    await card.getByText("0 of 3 left").waitFor(SLOWLY);
    await history(page, shoot);
    await card.getByRole("button", { name: "Reset counters" }).click();
    await card.getByText("3 of 3 left").waitFor(SLOWLY);
    assert.equal(await allowed(), true, "the counter is empty");
    await page.getByLabel("Changes last").selectOption({ label: "4 h" });
    await card.getByRole("button", { name: "Block for 4 h" }).click();
    await card.getByText("Every check is denied").waitFor(SLOWLY);
    assert.equal(await allowed(), false, "blocked");
    await shoot("subject");
    const latest = page.getByRole("region", { name: "Latest denials" });
    await latest.getByText("Never allowed").waitFor(SLOWLY);
    await latest.getByRole("link", { name: "Why" }).waitFor();
    await card.getByRole("button", { name: "Remove override" }).click();
    await card.getByText("2 of 3 left").waitFor(SLOWLY);
    await withoutRedis(page, shoot, card);
    await find(page, shoot);
});

/** The chart counts all denials of the day, not those of the log. What nobody counted is shown as such, never as 0. */
async function history(page, shoot) {
    const chart = page.getByRole("figure", { name: "Denials" });
    // Gates report subjects every ten seconds, and the page reads them every thirty.
    const counted = { timeout: 90_000 };
    await chart.getByRole("button", { name: "Denied 2 · 100%" }).waitFor(counted);
    await chart.getByText("Denials per 10 minutes").waitFor();
    const inspections = "**/subjects/inspect";
    await page.route(inspections, async (route) => {
        const response = await route.fetch();
        const body = await response.json();
        if (body.history) {
            // Of ten hours with 2,000 denials each, the log has the last minute.
            const steps = body.history.denied.length;
            for (let step = steps - 60; step < steps; step += 1) body.history.denied[step] = 2_000;
            body.history.unknown[3] = 700;
        }
        await route.fulfill({ response, json: body });
    });
    await page.reload();
    await chart.getByRole("button", { name: "Denied 120k · 99%" }).waitFor(counted);
    await chart.getByRole("button", { name: "Not known, up to 700 · 1%" }).waitFor();
    await shoot("subject-history");
    await page.unroute(inspections);
}

/** What is left is unknown, and the subject can be blocked all the same. The control plane answers like this while Redis is away. */
async function withoutRedis(page, shoot, card) {
    const inspections = "**/subjects/inspect";
    await page.route(inspections, async (route) => {
        const response = await route.fetch();
        const body = await response.json();
        for (const limit of body.data.flatMap((rule) => rule.limits)) Object.assign(limit, { remaining: null, reset_after_ms: null });
        await route.fulfill({ response, json: body });
    });
    await card.getByText("unknown of 3 left").waitFor(SLOWLY);
    await page.getByText("Redis does not answer, so what is left is unknown").waitFor();
    assert.equal(await card.getByRole("meter").count(), 0);
    await shoot("subject-without-redis");
    await card.getByRole("button", { name: "Block for 4 h" }).click();
    await card.getByText("Every check is denied").waitFor(SLOWLY);
    await card.getByRole("button", { name: "Remove override" }).click();
    await page.unroute(inspections);
    await card.getByText("2 of 3 left").waitFor(SLOWLY);
    await page.getByText("Redis does not answer").waitFor({ state: "detached" });
}

/** Two clicks: the menu of a denial, and the change. */
async function raiseFromDenial(page) {
    const denials = page.getByRole("region", { name: "Latest denials" });
    await denials.getByRole("button", { name: `Actions for user u-1 in ${name}` }).click(SLOWLY);
    await page.getByRole("menuitem", { name: "Raise limits ×2 for 1 h" }).click();
    await page.getByText(new RegExp(`^Limits of user u-1 in ${name} raised ×2 for 1 h: live on 2 of 2 gates`)).waitFor(SLOWLY);
}

/** The page without a subject lists some and opens an entered one. */
async function find(page, shoot) {
    await page.getByRole("link", { name: "Other subject" }).click();
    await heading(page, "Subjects");
    const active = page.getByRole("region", { name: "Most active" });
    await active.getByRole("link", { name: "user u-1" }).first().waitFor(SLOWLY);
    const field = page.getByRole("combobox", { name: "Find a customer, user, address or other subject" });
    await field.fill("u-1");
    await page.getByRole("option", { name: /^user u-1 at least \d denials in the last day/ }).waitFor();
    await shoot("subjects");
    await field.fill("nobody");
    await page.getByRole("option", { name: "Open as user nobody" }).click();
    await heading(page, "user nobody");
    await page.getByRole("article", { name: `${name} in default` }).getByText("3 of 3 left").waitFor();
    await page.getByText("No denials in the log of the last 24 hours").waitFor();
}

const viewer = await colleague(owner, "reader", "viewer");
await scenario("subjects, by a viewer", async ({ page }) => {
    await signIn(page, { ...viewer, next: `${home}/subjects?attributes=${encodeURIComponent('{"user":"u-1"}')}` });
    await heading(page, "user u-1");
    const card = page.getByRole("article", { name: `${name} in default` });
    assert.ok(await card.getByRole("button", { name: "Reset counters" }).isDisabled(), "a viewer cannot change a subject");
});

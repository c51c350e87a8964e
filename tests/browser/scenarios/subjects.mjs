// A denied subject is found from a denial, raised for an hour within three clicks, undone, reset and blocked.
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";

import { api, change, check, colleague, eventually, fresh, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

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
    await letThrough(page, shoot, card);
    await change(page, card, "Reset counters");
    await card.getByText("3 of 3 left").waitFor(SLOWLY);
    assert.equal(await allowed(), true, "the counter is empty");
    await page.getByLabel("Changes last").selectOption({ label: "4 h" });
    await change(page, card, "Block for 4 h");
    await card.getByText("Every check is denied").waitFor(SLOWLY);
    assert.equal(await allowed(), false, "blocked");
    await shoot("subject");
    const latest = page.getByRole("region", { name: "Latest denials" });
    await latest.getByText("Never allowed").waitFor(SLOWLY);
    await latest.getByRole("link", { name: "Why" }).first().waitFor();
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
    // An answer that is on its way is changed to its end.
    await page.unrouteAll({ behavior: "wait" });
}

/** D-12: the page begins with the rules that denied, the first card is theirs, and one menu lets the subject through in all of them. */
async function letThrough(page, shoot, card) {
    const head = page.getByRole("region", { name: "Last hour" });
    await head.getByText(new RegExp(`^Denied 2 times by ${name} in the last \\d+ min\\.$`)).waitFor({ timeout: 90_000 });
    assert.match(await page.getByRole("article").first().innerText(), new RegExp(name), "the rule that denied is the first");
    await head.getByLabel("Changes last").selectOption({ label: "4 h" });
    await head.getByRole("button", { name: "Let through for 4 h in 1 rule" }).click();
    await shoot("subject-let-through");
    await page.getByRole("menuitem", { name: "Allow every check for 4 h" }).click();
    await page.getByText(new RegExp(`^Every check of user u-1 in ${name} allowed for 4 h: live on 2 of 2 gates`)).waitFor(SLOWLY);
    await card.getByText("Every check is allowed").waitFor(SLOWLY);
    assert.equal(await allowed(), true, "allowed with nothing left");
    await page.getByRole("status", { name: "Notifications" }).getByRole("button", { name: "Undo" }).last().click();
    await card.getByText("0 of 3 left").waitFor(SLOWLY);
    await head.getByLabel("Changes last").selectOption({ label: "1 h" });
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
    await change(page, card, "Block for 4 h");
    await card.getByText("Every check is denied").waitFor(SLOWLY);
    await card.getByRole("button", { name: "Remove override" }).click();
    // An answer that is on its way is changed to its end.
    await page.unrouteAll({ behavior: "wait" });
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
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).last().click();
    const lines = (await readFile(await (await download).path(), "utf8")).trimEnd().split("\r\n");
    assert.match(lines[0], /^Namespace,Rule,Subject,Checks,Denied,/);
    assert.ok(lines.some((line) => line.startsWith(`default,${name},user u-1,`)), lines.join());
    await field.fill("nobody");
    await page.getByRole("option", { name: "Open as user nobody" }).click();
    await heading(page, "user nobody");
    await page.getByRole("article", { name: `${name} in default` }).getByText("3 of 3 left").waitFor();
    await page.getByText("No denials in the log").waitFor();
    await page.getByText(/^Not denied in the last \d+ min\.|^No denials are known in the last \d+ min\./).waitFor();
    // D-26: a character that would reverse the text is shown as an escape.
    const reversed = encodeURIComponent(JSON.stringify({ user: "evil\u202etxt" }));
    await page.goto(`${stack.baseUrl}${home}/subjects?attributes=${reversed}`);
    await heading(page, "user evil\\u{202e}txt");
}

const viewer = await colleague(owner, "reader", "viewer");
await scenario("subjects, by a viewer", async ({ page }) => {
    await signIn(page, { ...viewer, next: `${home}/subjects?attributes=${encodeURIComponent('{"user":"u-1"}')}` });
    await heading(page, "user u-1");
    const card = page.getByRole("article", { name: `${name} in default` });
    await card.getByText("2 of 3 left").waitFor();
    assert.equal(await card.getByRole("button", { name: /^Actions for / }).count(), 0, "a viewer cannot change a subject");
    assert.ok(await page.getByLabel("Changes last").isDisabled());
});

/** D-10: the subjects that have used most of a limit, of all rules and of one. */
await scenario("subjects near a limit", async ({ page, shoot }) => {
    const limits = [{ algorithm: "quota", limit: 5, period: "month" }];
    const rule = { namespace: "near", name: `monthly-${fresh}`, count_by: ["customer"], limits };
    const { id } = await api("POST", `/tenants/${owner.tenant}/rules`, rule, owner);
    for (const customer of ["globex", "globex", "globex", "globex", "acme"]) {
        await check(stack.gates[0], secret, { namespace: "near", attributes: { customer } });
    }
    const list = `/tenants/${owner.tenant}/subjects/near-limit?rule_id=${id}`;
    await eventually("a gate reports the subjects", async () => (await api("GET", list, undefined, owner)).data.length === 1);
    await signIn(page, { ...owner, next: `${home}/subjects` });
    await heading(page, "Subjects");
    await page.getByRole("tab", { name: "Near limit" }).click();
    const table = page.getByRole("region", { name: "Near limit" });
    const row = table.getByRole("row").filter({ hasText: "customer globex" });
    await row.getByText("1 of 5 left").waitFor();
    await row.getByRole("link", { name: rule.name }).waitFor();
    assert.equal(await table.getByText("customer acme").count(), 0, "it has used a fifth");
    await page.getByText(/counted subjects? (of|with most checks in) the last hour were read\./).waitFor();
    await shoot("subjects-near-limit");
    await row.getByRole("link", { name: rule.name }).click();
    await heading(page, rule.name);
    await page.getByRole("tab", { name: "Near limit" }).click();
    await page.getByRole("heading", { name: "1 subject near a limit" }).waitFor();
    await page.getByRole("combobox", { name: "Used" }).selectOption({ label: "100% or more" });
    await page.getByText("No subject has used so much of a limit").waitFor();
    await page.getByRole("combobox", { name: "Used" }).selectOption({ label: "80% or more" });
    await table.getByRole("button", { name: `Actions for customer globex in ${rule.name}` }).click();
    await page.getByRole("menuitem", { name: "Raise limits ×2 for 1 h" }).click();
    await page.getByText("No subject has used so much of a limit").waitFor(SLOWLY);
});

const asked = `api-${fresh}`;
const body = (most) => ({ namespace: "why", name: asked, count_by: ["customer"], limits: [limit(most)] });
await scenario("why a request was denied", async ({ page, shoot }) => {
    const rule = await api("POST", `/tenants/${owner.tenant}/rules`, body(1), owner);
    const request = { namespace: "why", attributes: { customer: "42" } };
    await check(stack.gates[0], secret, request);
    assert.equal((await check(stack.gates[0], secret, request)).allowed, false);
    const denials = `/tenants/${owner.tenant}/stats/denials?namespace=why`;
    await eventually("the denial is in the log", async () => (await api("GET", denials, undefined, owner)).data.length === 1);
    const [{ request_id: id }] = (await api("GET", denials, undefined, owner)).data;

    await signIn(page, { ...owner, next: `${home}/overview` });
    await heading(page, "Overview");
    await page.keyboard.press("Control+k");
    await page.keyboard.type(id);
    await page.getByRole("option", { name: `Why was ${id} denied?` }).click();
    await heading(page, "Why was this denied?");
    const sentence = new RegExp(`^Denied by ${asked} for customer 42: 1 of 1 used per hour, retry in `);
    await page.getByRole("heading", { name: sentence }).waitFor();
    await page.getByText("The rule has not changed since.").waitFor();
    const card = page.getByRole("article", { name: `${asked} in why` });
    await card.getByText("0 of 1 left").waitFor();
    await shoot("why");

    await api("PUT", `/tenants/${owner.tenant}/rules/${rule.id}`, body(5), { ...owner, ifMatch: rule.revision });
    await page.reload();
    await page.getByText("Revision 2", { exact: true }).waitFor();
    await page.getByRole("region", { name: "Changes in revision 2" }).waitFor();
    await card.getByText("4 of 5 left").waitFor();
    await change(page, card, "Block for 1 h");
    await card.getByText("Every check is denied").waitFor(SLOWLY);
    await page.getByText("An override applies that did not apply then.").waitFor();
    await shoot("why-changed");

    page.expectFault(/status 404: GET .*\/stats\/denials\/req_/);
    page.expectFault(/console: Failed to load resource.*404/);
    await page.goto(`${stack.baseUrl}${home}/why/req_01JD3Z9W2XK7Q8R5T6V0ABCDEF`);
    await page.getByText("The log has no denial of this request").waitFor();
    await page.getByText(/no rule of this tenant denied it, or it was denied more than 30 days ago/).waitFor();
    await page.getByRole("link", { name: "Which denials the log keeps" }).waitFor();
    await shoot("why-not-logged");
});

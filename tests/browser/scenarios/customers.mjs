// Customers: assignments by form and by file, the filter, the numbers of real checks, the page of one customer with its plans and
// its usage, the customer's own view, links from other pages, and the page of a viewer.
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";

import { api, check, colleague, eventually, heading, newcomer, scenario, signIn, stack } from "../steps.mjs";

const owner = await newcomer("customers");
const tenant = `/tenants/${owner.tenant}`;
const home = `/t/${owner.tenant}`;
const log = (limit) => [{ algorithm: "sliding_window_log", limit, window_ms: 3_600_000 }];
await api("POST", `${tenant}/rules`, { namespace: "api", name: "requests", count_by: ["org"], limits: log(2) }, owner);
await api("POST", `${tenant}/rules`, { namespace: "api", name: "exports", count_by: ["org", "user"], limits: log(50) }, owner);
const { secret } = await api("POST", `${tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

// More than the 50 customers of a page.
const MANY = Array.from({ length: 230 }, (_, at) => `c-${String(at).padStart(3, "0")}`);
const ODD = "50%41/ü\\ ~";

await scenario("customers", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `${home}/customers` });
    await heading(page, "Customers");
    await nothingYet(page, shoot);
    await assign(page, shoot);
    await importMany(page, shoot);
    await traffic();
    await numbers(page, shoot);
    await filter(page, shoot);
    await oneCustomer(page, shoot);
    await ownView(page);
    await links(page);
    await oddName(page);
    await viewer();
});

async function nothingYet(page, shoot) {
    await page.getByText("Which attribute names your customers?").waitFor();
    await shoot("customers-no-attribute");
    await page.getByLabel("Customer attribute").fill("org");
    await page.getByLabel("Customer attribute").press("Enter");
    await page.getByText("No customers yet").waitFor();
    await page.getByRole("button", { name: "Assign" }).click();
    await page.getByRole("dialog").getByRole("link", { name: "Plans" }).waitFor();
    await page.keyboard.press("Escape");
    for (const [name, limit] of [["basic", 3], ["pro", 5]]) {
        const rules = [{ namespace: "api", rule: "requests", limits: log(limit) }];
        await api("POST", `${tenant}/plans`, { name, rules }, owner);
    }
    await page.reload();
    await page.getByText("No customers yet").waitFor();
    await shoot("customers-nothing");
}

/** With the keyboard: at once, and from a time, which another assignment must not overlap. */
async function assign(page, shoot) {
    const button = page.getByRole("button", { name: "Assign", exact: true });
    const form = page.getByRole("dialog", { name: "Assign a customer to a plan" });
    const submit = form.getByRole("button", { name: "Assign" });
    await button.press("Enter");
    assert.ok(await submit.isDisabled(), "a customer is needed");
    await form.getByLabel("Customer").fill("acme");
    await form.getByLabel("Plan").selectOption("pro");
    await form.getByLabel("Until").fill("2020-01-31T08:00");
    await form.getByText("Must be later than `from`, and in the future").waitFor();
    assert.ok(await submit.isDisabled());
    await shoot("customers-assign");
    await form.getByLabel("Until").fill("");
    await form.getByLabel("Note").fill("signed in May");
    await form.getByLabel("Note").press("Enter");
    await row(page, "acme").getByText("pro").waitFor();
    await page.getByText("acme assigned to pro").waitFor();

    await button.click();
    await form.getByLabel("Customer").fill("acme");
    await form.getByLabel("Plan").selectOption("basic");
    await form.getByLabel("From").fill("2099-01-01T00:00");
    await submit.click();
    await form.waitFor({ state: "hidden" });
    page.expectFault(/status 422: POST .*\/assignments$/);
    page.expectFault(/console: Failed to load resource.*422.*\/assignments\)/);
    await button.click();
    await form.getByLabel("Customer").fill("acme");
    await form.getByLabel("From").fill("2099-01-01T00:00");
    await submit.click();
    await form.getByText(/^Overlaps assignment_/).waitFor();
    await form.getByRole("button", { name: "Cancel" }).click();
}

/** A file with one wrong line, which the browser finds, and one that only the server can find. */
async function importMany(page, shoot) {
    const lines = MANY.map((customer, at) => `${customer},${at % 2 ? "pro" : "basic"},,,batch`);
    const head = "customer,plan,from,until,note";
    await page.getByRole("button", { name: "Import CSV" }).click();
    await choose(page, [head, ...lines, "c-x,gold,,,"]);
    await page.getByRole("alert").getByText("line 232: no plan gold").waitFor();
    const submit = page.getByRole("button", { name: "Import", exact: true });
    assert.ok(await submit.isDisabled());
    await shoot("customers-import");
    page.expectFault(/status 422: POST .*\/assignments\/bulk$/);
    page.expectFault(/console: Failed to load resource.*422.*\/assignments\/bulk\)/);
    await choose(page, [head, ...lines, "acme,pro,,2099-06-01T00:00:00Z,"]);
    await submit.click();
    await page.getByRole("alert").getByText("line 232 until").waitFor();
    const { data } = await api("GET", `${tenant}/customers?query=c-`, undefined, owner);
    assert.deepEqual(data, [], "nothing is written");
    await choose(page, [head, ...lines]);
    await page.getByText("230 assignments ready to import.").waitFor();
    await submit.click();
    await page.getByText("Imported 230 assignments").waitFor();
    await loadAll(page, 231);
}

/** Checks at both gates: every customer once, and acme beyond the limit of its plan. */
async function traffic() {
    const ask = (org, at) =>
        check(stack.gates[at % stack.gates.length], secret, { namespace: "api", attributes: { org, user: "u" } });
    for (let at = 0; at < 8; at += 1) assert.equal((await ask("acme", at)).allowed, at < 5);
    for (let at = 0; at < MANY.length; at += 23) await Promise.all(MANY.slice(at, at + 23).map(ask));
    await eventually("the checks are counted", async () => {
        const customers = await all();
        const checks = customers.map(({ today }) => today.allowed + today.denied);
        return checks.reduce((sum, count) => sum + count) === MANY.length + 8;
    });
    await eventually("the denials are in the log", async () => {
        const { data } = await api("GET", `${tenant}/stats/denials?customer=acme`, undefined, owner);
        return data.length === 3;
    });
}

/** The table has the numbers of the API. */
async function numbers(page, shoot) {
    await page.reload();
    await row(page, "acme").waitFor();
    assert.deepEqual(await cells(row(page, "acme")), ["acme", "pro", "100%requests", "5", "3", "5", ""]);
    await row(page, "acme").getByRole("img", { name: "8 checks in 7 days, 3 denied" }).waitFor();
    await shoot("customers");
    await page.getByRole("button", { name: "View of Customers" }).click();
    const text = await downloaded(page, () => page.getByRole("menuitem", { name: /^Export CSV/ }).click());
    const expected = (await all()).map(({ customer, plan, today, last_7_days, most_used }) => {
        const { limit, remaining } = most_used.limit;
        const used = `${Math.floor(((limit - remaining) * 100) / limit)}%`;
        const checks = last_7_days.reduce((sum, day) => sum + day.allowed + day.denied, 0);
        return [customer, plan.name, used, today.allowed, today.denied, today.units, checks].join(",");
    });
    const head = "Customer,Plan,Most used,Allowed today,Denied today,Units today,Last 7 days";
    assert.deepEqual(text.trimEnd().split("\r\n"), [head, ...expected]);
}

async function filter(page, shoot) {
    const search = page.getByLabel("Customer begins with");
    await search.fill("c-00");
    await page.getByText("10 customers", { exact: true }).waitFor();
    await page.getByLabel("Plan", { exact: true }).selectOption("basic");
    await page.getByText("5 customers", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("5 customers", { exact: true }).waitFor();
    await shoot("customers-filter");
    await page.getByLabel("Order").selectOption("Most denied today");
    await page.getByText("No matching customers").waitFor();
    assert.equal(await page.getByLabel("Plan", { exact: true }).locator("option:checked").textContent(), "Any plan");
    await search.fill("");
    await row(page, "acme").waitFor();
    await page.getByText("1 customer", { exact: true }).waitFor();
    await page.getByLabel("Order").selectOption("By name");
    await row(page, "c-000").waitFor();
}

/** The plans of a customer, a change at once, the end of one that has not begun, and its usage. */
async function oneCustomer(page, shoot) {
    await row(page, "acme").getByRole("link", { name: "acme" }).press("Enter");
    await heading(page, "acme");
    const plans = page.getByRole("region", { name: "Plans of this customer" });
    const states = async () => plans.getByRole("row").locator("td:nth-child(-n+2)").allTextContents();
    await plans.getByText("signed in May").waitFor();
    assert.deepEqual(await states(), ["basic", "Scheduled", "pro", "Present"]);
    const usage = await api("GET", `${tenant}/customers/acme/usage`, undefined, owner);
    const [day] = usage.days;
    assert.deepEqual([day.allowed, day.denied, day.units], [5, 3, 5]);
    const chart = page.getByRole("figure", { name: "Checks" });
    await chart.getByRole("button", { name: "Allowed 5 · 63%" }).waitFor();
    await chart.getByRole("button", { name: "Denied 3 · 38%" }).waitFor();
    const rules = page.getByRole("region", { name: "Usage by rule" });
    const of = (name) => day.rules.find(({ rule }) => rule === name);
    for (const name of ["exports", "requests"]) {
        const { allowed, denied, units } = of(name);
        assert.deepEqual(await cells(rules.getByRole("row", { name: `api / ${name}` })), [`api / ${name}`, allowed, denied, units].map(String));
    }
    const denials = page.getByRole("region", { name: "Latest denials" });
    assert.equal(await denials.getByRole("row", { name: /org acme.*requests/ }).getByRole("cell").nth(3).textContent(), "3");
    await shoot("customer");
    const text = await downloaded(page, () => page.getByRole("button", { name: "Export CSV" }).click());
    const lines = text.trimEnd().split("\r\n");
    assert.equal(lines[0], "day,customer,rule_id,namespace,rule,allowed,denied,units");
    assert.ok(lines.includes(`${day.day},"acme",,,,5,3,5`), text);
    assert.equal(lines.length, 2 + day.rules.length);

    await page.getByRole("button", { name: "End basic" }).click();
    const question = page.getByRole("dialog", { name: "End this assignment?" });
    await question.getByText("It never begins.").waitFor();
    await shoot("customer-end");
    await question.getByRole("button", { name: "End assignment" }).press("Enter");
    await plans.getByText("Cancelled").waitFor();
    await page.getByRole("button", { name: "Change plan" }).click();
    const form = page.getByRole("dialog", { name: "Change plan" });
    assert.equal(await form.getByLabel("Customer").count(), 0, "the customer is given");
    await form.getByLabel("Plan").selectOption("basic");
    await shoot("customer-change-plan");
    await form.getByRole("button", { name: "Assign" }).click();
    await plans.getByText("Ended").waitFor();
    assert.deepEqual(await states(), ["basic", "Cancelled", "basic", "Present", "pro", "Ended"]);
    await shoot("customer-history");
}

/** In another tab: the units that the customer has used of the new plan. */
async function ownView(page) {
    const opened = page.context().waitForEvent("page");
    await page.getByRole("button", { name: "Show as customer" }).click();
    const view = await opened;
    await view.getByText("3 of 3 used").waitFor();
    assert.equal(view.url(), `${stack.baseUrl}/u/`, "the token left the address");
    await view.close();
}

/** From the customer to its counters and back, and from a plan to its customers. */
async function links(page) {
    await page.getByRole("link", { name: "Counters and blocks" }).click();
    await heading(page, "org acme");
    await page.getByRole("link", { name: "Plan and usage" }).click();
    await heading(page, "acme");
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Plans" }).click();
    await page.getByRole("link", { name: "115 customers on pro" }).click();
    await heading(page, "Customers");
    await loadAll(page, 115);
    assert.equal(await page.getByLabel("Plan", { exact: true }).locator("option:checked").textContent(), "pro");
}

/** Every name has a page, which a reload shows again. */
async function oddName(page) {
    const { data: plans } = await api("GET", `${tenant}/plans`, undefined, owner);
    await api("POST", `${tenant}/assignments`, { customer: ODD, plan: plans[0].id }, owner);
    await page.getByLabel("Plan", { exact: true }).selectOption("Any plan");
    await page.getByLabel("Customer begins with").fill("50%");
    await page.getByRole("link", { name: ODD }).click();
    await heading(page, ODD);
    await page.getByRole("region", { name: "Plans of this customer" }).getByText("Present").waitFor();
    await page.reload();
    await heading(page, ODD);
    await page.getByText("No checks this month").waitFor();
}

async function viewer() {
    const viewer = await colleague(owner, "customers-viewer", "viewer");
    await scenario("customers of a viewer", async ({ page }) => {
        await signIn(page, { ...viewer, next: `${home}/customers` });
        await row(page, "acme").waitFor();
        for (const name of ["Assign", "Import CSV"]) {
            assert.ok(await page.getByRole("button", { name, exact: true }).isDisabled());
        }
        await row(page, "acme").getByRole("link", { name: "acme" }).click();
        await heading(page, "acme");
        await page.getByRole("region", { name: "Plans of this customer" }).waitFor();
        for (const name of ["Change plan", "Show as customer", "End basic"]) {
            assert.ok(await page.getByRole("button", { name, exact: true }).isDisabled());
        }
    });
}

/** Loads page after page of the list. */
async function loadAll(page, total) {
    for (let shown = 50; shown < total; shown += 50) {
        await page.getByText(`${shown} customers; more are not loaded yet`).waitFor();
        await page.getByRole("button", { name: "Load more" }).click();
    }
    await page.getByText(`${total} customers`, { exact: true }).waitFor();
}

/** All customers, page by page. */
async function all() {
    const customers = [];
    let cursor = "";
    do {
        const page = await api("GET", `${tenant}/customers?limit=50&used=true${cursor}`, undefined, owner);
        customers.push(...page.data);
        cursor = page.next_cursor ? `&cursor=${page.next_cursor}` : "";
    } while (cursor);
    return customers;
}

async function downloaded(page, press) {
    const download = page.waitForEvent("download");
    await press();
    return readFile(await (await download).path(), "utf8");
}

async function choose(page, lines) {
    const buffer = Buffer.from(lines.join("\n"));
    await page.getByLabel("File", { exact: true }).setInputFiles({ name: "customers.csv", mimeType: "text/csv", buffer });
}

function row(page, customer) {
    return page.getByRole("region", { name: "Customers", exact: true }).getByRole("row", { name: customer });
}

async function cells(row) {
    return (await row.getByRole("cell").allTextContents()).map((text) => text.trim());
}

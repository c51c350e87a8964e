// The table of list pages, on the rules: groups, order, columns, density, selection by key, links of rows, export, and cards on
// phones. The URL stores the view.
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";

import { api, check, eventually, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("lister");
const home = `/tenants/${owner.tenant}`;

await scenario("tables", async ({ page, shoot }) => {
    await prepare();
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/rules` });
    await heading(page, "Rules");
    await page.getByText("4 rules", { exact: true }).waitFor();
    await stays(page);
    await fits(page);
    await groups(page, shoot);
    await filters(page);
    await sorts(page);
    await view(page, shoot);
    await savesViews(page, shoot);
    await exports(page);
    await selects(page);
    await duplicates(page, shoot);
    await menus(page, shoot);
    await cards(page, shoot);
    await deletes(page, shoot);
    await opens(page);
});

async function prepare() {
    const limits = [{ algorithm: "sliding_window_log", limit: 1, window_ms: 3_600_000 }];
    for (const [namespace, name] of [["api", "login"], ["api", "search"], ["jobs", "export"], ["jobs", "report"]]) {
        await api("POST", `${home}/rules`, { namespace, name, count_by: ["user"], limits }, owner);
    }
    const { secret } = await api("POST", `${home}/keys`, { name: "k", scopes: ["check"] }, owner);
    const denied = async () => !(await check(stack.gates[0], secret, { namespace: "jobs", attributes: { user: "u" } })).allowed;
    assert.ok(!(await denied()) && (await denied()), "one check is allowed");
    await eventually("the denial is counted", async () => {
        const { data } = await api("GET", `${home}/stats/rules`, undefined, owner);
        return data.some((series) => series.denied.some((count) => count > 0));
    });
}

function table(page) {
    return page.getByRole("region", { name: "Rules" });
}

async function names(page) {
    return table(page).getByRole("link").allTextContents();
}

/** The rows take the place of their skeleton: the layout hardly shifts while the page loads. */
async function stays(page) {
    await page.reload();
    await page.getByText("4 rules", { exact: true }).waitFor();
    const shift = await page.evaluate(() => {
        let sum = 0;
        const add = (list) => list.getEntries().forEach((entry) => (sum += entry.hadRecentInput ? 0 : entry.value));
        const observer = new PerformanceObserver(add);
        observer.observe({ type: "layout-shift", buffered: true });
        const done = (resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
        return new Promise(done);
    });
    assert.ok(shift < 0.02, `the layout shifted by ${shift}`);
}

/** All columns are in the frame of a wide window, even with the long address of an author. */
async function fits(page) {
    const wider = (frame) => frame.scrollWidth - frame.clientWidth;
    await eventually("the table is as wide as its frame", async () => (await table(page).evaluate(wider)) <= 0);
}

/** Groups close and open by keyboard, and exist only in the order of names. */
async function groups(page, shoot) {
    const group = table(page).getByRole("button", { name: "api 2" });
    await group.focus();
    await page.keyboard.press("Enter");
    assert.equal(await group.getAttribute("aria-expanded"), "false");
    assert.deepEqual(await names(page), ["export", "report"]);
    await page.keyboard.press("Enter");
    assert.deepEqual(await names(page), ["login", "search", "export", "report"]);
    await shoot("tables-groups");
}

/** The namespace and the denials of the last hour. */
async function filters(page) {
    await page.getByLabel("Denials", { exact: true }).selectOption({ label: "No denials in the last hour" });
    await page.getByText("2 of 4 rules").waitFor();
    assert.deepEqual(await names(page), ["login", "search"]);
    await page.getByLabel("Namespace").selectOption("jobs");
    await page.getByText("No rules match").waitFor();
    assert.equal(new URL(page.url()).search, "?denials=none&namespace=jobs");
    // The namespace goes with the person from page to page.
    await page.getByRole("link", { name: "Overrides", exact: true }).click();
    await heading(page, "Overrides");
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await page.getByText("2 of 4 rules").waitFor();
    assert.equal(new URL(page.url()).search, "?namespace=jobs");
    await page.getByLabel("Namespace").selectOption({ label: "All namespaces" });
    await page.getByText("4 rules", { exact: true }).waitFor();
    assert.equal(new URL(page.url()).search, "");
}

async function sorts(page) {
    const head = page.getByRole("columnheader", { name: "Denied, last hour" });
    await head.getByRole("button").click();
    assert.equal(await head.getAttribute("aria-sort"), "descending", "the largest first");
    assert.deepEqual((await names(page)).slice(0, 2).sort(), ["export", "report"]);
    assert.equal(await table(page).getByRole("button", { name: "jobs 2" }).count(), 0, "no groups in another order");
    await page.reload();
    await page.getByText("4 rules", { exact: true }).waitFor();
    assert.equal(await head.getAttribute("aria-sort"), "descending", "the URL keeps the order");
    await page.getByRole("button", { name: "Rule", exact: true }).click();
}

/** Hidden columns and the density are those of the URL. */
async function view(page, shoot) {
    const row = page.getByRole("row", { name: "login" });
    const height = async () => (await row.boundingBox())?.height;
    const before = await height();
    await page.getByRole("button", { name: "View of Rules" }).click();
    await page.getByRole("menuitemradio", { name: "Matches" }).click();
    await page.getByRole("menuitemradio", { name: "Compact rows" }).click();
    await shoot("tables-view");
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("columnheader", { name: "Matches" }).count(), 0);
    const { searchParams } = new URL(page.url());
    assert.equal(searchParams.get("hide"), "matches");
    assert.equal(searchParams.get("density"), "compact");
    await page.reload();
    await row.waitFor();
    await eventually("rows are lower", async () => (await height()) < before);
    assert.equal(await page.getByRole("columnheader", { name: "Matches" }).count(), 0);
}

/** A view has a name and can be chosen again; the tenant stores it. */
async function savesViews(page, shoot) {
    const menu = page.getByRole("button", { name: "View of Rules" });
    const dialog = page.getByRole("dialog", { name: "Saved views" });
    await page.getByLabel("Namespace").selectOption("jobs");
    await page.getByText("2 of 4 rules").waitFor();
    const { search } = new URL(page.url());
    await menu.click();
    await page.getByRole("menuitem", { name: "Save or delete views…" }).click();
    await dialog.getByLabel("Name of the current view").fill("x".repeat(65));
    await dialog.getByText("must be at most 64 characters").waitFor();
    await dialog.getByLabel("Name of the current view").fill("Jobs, compact");
    await shoot("tables-save-view");
    await dialog.getByRole("button", { name: "Save view" }).click();
    await dialog.waitFor({ state: "hidden" });
    const { views } = await api("GET", `${home}/views`, undefined, owner);
    assert.deepEqual(views.map(({ list, name }) => [list, name]), [["rules", "Jobs, compact"]]);
    await page.goto(`${stack.baseUrl}/t/${owner.tenant}/rules`);
    await page.getByText("4 rules", { exact: true }).waitFor();
    await menu.click();
    const view = page.getByRole("menuitemradio", { name: "Jobs, compact" });
    assert.equal(await view.getAttribute("aria-checked"), "false");
    await view.click();
    await page.getByText("2 of 4 rules").waitFor();
    await eventually("the view is the current one", async () => (await view.getAttribute("aria-checked")) === "true");
    const query = (text) => [...new URLSearchParams(text)].sort();
    assert.deepEqual(query(new URL(page.url()).search), query(search));
    await page.getByRole("menuitem", { name: "Save or delete views…" }).click();
    const remove = dialog.getByRole("button", { name: "Delete the view Jobs, compact" });
    await remove.click();
    await remove.waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Close" }).click();
    await menu.click();
    await page.getByRole("menuitem", { name: "Export CSV" }).waitFor();
    assert.equal(await view.count(), 0);
    await page.keyboard.press("Escape");
    await page.getByLabel("Namespace").selectOption({ label: "All namespaces" });
    await page.getByText("4 rules", { exact: true }).waitFor();
}

/** The shown rows and columns, in their order. */
async function exports(page) {
    await page.getByLabel("Filter", { exact: true }).fill("jobs");
    await page.getByText("2 of 4 rules").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "View of Rules" }).click();
    await page.getByRole("menuitem", { name: "Export CSV" }).click();
    const lines = (await readFile(await (await download).path(), "utf8")).trimEnd().split("\r\n");
    assert.match(lines[0], /^Rule,Limits,Mode,/);
    assert.deepEqual(lines.slice(1).map((line) => line.split(",")[0]), ["export", "report"]);
    await page.getByLabel("Filter", { exact: true }).fill("");
    await page.getByText("4 rules", { exact: true }).waitFor();
}

/** `j` moves to a row and `x` selects it. */
async function selects(page) {
    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "search");
    await page.keyboard.press("x");
    assert.ok(await page.getByLabel("Select search").isChecked());
    const bar = page.getByRole("group", { name: "Selected rules" });
    await bar.getByText("1 rule selected").waitFor();
    await page.keyboard.press("x");
    await bar.waitFor({ state: "detached" });
}

/** Copies are off, and can be deleted again. A rule names the number of its overrides. */
async function duplicates(page, shoot) {
    const { data } = await api("GET", `${home}/rules`, undefined, owner);
    const limits = [{ algorithm: "fixed_window", limit: 9, window_ms: 3_600_000 }];
    const rule_id = data.find(({ name }) => name === "search").id;
    await api("POST", `${home}/overrides`, { rule_id, subject: { user: "u-1" }, limits }, owner);
    await page.reload();
    await page.getByText("4 rules", { exact: true }).waitFor();
    await page.getByLabel("Select search").check();
    await page.getByLabel("Select login").check();
    await page.getByRole("group", { name: "Selected rules" }).getByRole("button", { name: "Duplicate" }).click();
    await page.getByText("2 rules duplicated. Copies are off.").waitFor();
    await page.getByRole("button", { name: "Mode of login-copy: Off" }).waitFor();
    await shoot("tables-duplicates");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("4 rules", { exact: true }).waitFor();
    await page.getByRole("row", { name: "search" }).getByRole("img", { name: `by ${owner.email}` }).waitFor();
    await page.getByRole("link", { name: "1 override of search" }).click();
    await heading(page, "Overrides");
    await page.getByRole("row", { name: "user u-1" }).waitFor();
    await page.goBack();
    await page.getByText("4 rules", { exact: true }).waitFor();
}

/** The mode of one rule changes from its menu, after a confirmation. */
async function menus(page, shoot) {
    await page.getByRole("button", { name: "Mode of login: Enforced" }).click();
    await shoot("tables-menu");
    await page.getByRole("menuitem", { name: "Set to Shadow" }).click();
    const dialog = page.getByRole("dialog", { name: "Change the mode?" });
    await dialog.getByText("login", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Set to Shadow" }).click();
    await page.getByRole("button", { name: "Mode of login: Shadow" }).waitFor();
    await page.getByRole("button", { name: "Actions of login" }).click();
    await page.getByRole("menuitem", { name: "Replay" }).waitFor();
    await page.keyboard.press("Escape");
}

/** On a phone every cell of a row is inside the window, with the name of its column. */
async function cards(page, shoot) {
    await page.setViewportSize({ width: 390, height: 844 });
    const row = page.getByRole("row", { name: "login" });
    await row.waitFor();
    for (const cell of await row.getByRole("cell").all()) {
        const { x, width } = await cell.boundingBox();
        assert.ok(x >= 0 && x + width <= 390, "the cell is in the window");
    }
    const label = await row.getByRole("cell").nth(2).evaluate((cell) => getComputedStyle(cell, "::before").content);
    assert.equal(label, '"Limits"');
    await page.setViewportSize({ width: 1440, height: 900 });
    await shoot("tables-cards");
}

/** Deleting asks for the name of the rule. */
async function deletes(page, shoot) {
    await page.getByRole("button", { name: "Actions of report" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete these rules?" });
    await dialog.getByLabel("Type report to confirm").fill("report");
    await shoot("tables-delete");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("3 rules", { exact: true }).waitFor();
    const { data } = await api("GET", `${home}/rules`, undefined, owner);
    assert.equal(data.length, 3);
}

/** A press anywhere on a row opens it. */
async function opens(page) {
    await page.getByRole("row", { name: "login" }).getByText("1/h", { exact: true }).click();
    await heading(page, "login");
}

/** D-40: whole times have one form, in the time zone of the computer or in UTC, as the menu of the account says. */
await scenario("times", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/keys` });
    await heading(page, "API keys");
    const time = page.getByRole("main").locator("time").first();
    assert.match(await time.getAttribute("title"), /^[A-Z][a-z]{2} \d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d:\d\d$/);
    await page.getByRole("button", { name: "(account)" }).click();
    await page.getByRole("menuitemradio", { name: "Times of this computer", checked: true }).waitFor();
    await shoot("times-menu");
    const reloaded = page.waitForEvent("load");
    await page.getByRole("menuitemradio", { name: "Times in UTC" }).click();
    await reloaded;
    await heading(page, "API keys");
    const at = new Date(await time.getAttribute("datetime"));
    const [, weekday, day, month, year, clock] = /(\w+), (\d+) (\w+) (\d+) ([\d:]+)/.exec(at.toUTCString());
    assert.equal(await time.getAttribute("title"), `${weekday} ${Number(day)} ${month} ${year}, ${clock} UTC`);
});

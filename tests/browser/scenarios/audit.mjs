// Audit entries with their differences, loading older entries, filters, and access for admins only.
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";

import { api, colleague, heading, newcomer, signIn, signOut, stack, scenario } from "../steps.mjs";

const owner = await newcomer("auditor");
const home = `/tenants/${owner.tenant}`;

await scenario("audit", async ({ page, shoot }) => {
    await changeThings();
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/audit` });
    await heading(page, "Audit log");
    await page.getByText("50 entries; more are not loaded yet").waitFor();
    await shoot("audit");
    await older(page);
    await difference(page, shoot);
    await namesAndLinks(page);
    await deletedOverrides(page, shoot);
    await asViewer(page, shoot);
});

/** A rule is created and changed, followed by more than a page of other entries. */
async function changeThings() {
    const rule = { name: "login", count_by: ["user"], limits: [{ algorithm: "spacing", interval_ms: 1000 }] };
    const { id } = await api("POST", `${home}/rules`, rule, owner);
    const stricter = { ...rule, mode: "shadow", limits: [{ algorithm: "spacing", interval_ms: 5000 }] };
    await api("PUT", `${home}/rules/${id}`, stricter, { ...owner, ifMatch: 1 });
    for (let at = 0; at < 55; at += 1) {
        await api("PATCH", home, { name: `Audited ${at}` }, owner);
    }
}

async function older(page) {
    await page.getByRole("button", { name: "Load older entries" }).click();
    await page.getByText("58 entries", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Created the tenant Tenant of auditor" }).waitFor();
}

/** The filter runs on the server, is stored in the URL, and entries open by keyboard. */
async function difference(page, shoot) {
    await page.getByLabel("Event", { exact: true }).selectOption({ label: "All rule events" });
    await page.getByText("2 entries", { exact: true }).waitFor();
    await page.getByLabel("Event", { exact: true }).selectOption({ label: "Rule changed" });
    await page.getByLabel("Actor").fill("AUDITOR");
    await page.getByLabel("Name, ID or IP address").fill("log");
    await page.getByText("1 entry", { exact: true }).waitFor();
    await page.getByLabel("To", { exact: true }).fill("2020-01-31");
    await page.getByText("0 entries", { exact: true }).waitFor();
    await page.getByLabel("To", { exact: true }).fill("");
    await page.getByText("1 entry", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("1 entry", { exact: true }).waitFor();
    assert.equal(await page.getByLabel("Actor").inputValue(), "AUDITOR");
    // B26: the line itself says what changed, and names the objects.
    const line = page.getByRole("row", { name: "Changed rule login" });
    await line.getByText("spacing 1 s → 5 s; mode Enforced → Shadow").waitFor();
    const entry = line.getByRole("button", { name: "Changed rule login" });
    await entry.focus();
    await page.keyboard.press("Enter");
    const drawer = page.getByRole("dialog", { name: "Changed rule login" });
    await drawer.getByText("All requests, for each user: at least 5 s apart. Shadow").waitFor();
    const row = page.getByRole("table", { name: "Changes" }).getByRole("row").nth(1);
    assert.deepEqual(await row.getByRole("cell").allTextContents(), ["limits[0].interval_ms", "1000", "5000"]);
    await shoot("audit-entry");
    await drawer.getByRole("button", { name: "Close" }).click();
    await drawer.waitFor({ state: "hidden" });
}

/** B26: entries of overrides and resets have only ids; the page shows the rule and the subject, and links to them. */
async function namesAndLinks(page) {
    const { data } = await api("GET", `${home}/rules`, undefined, owner);
    const [{ id }] = data;
    const subject = { user: "u-17" };
    await api("POST", `${home}/overrides`, { rule_id: id, subject, action: "allow" }, owner);
    await api("POST", `${home}/counters/reset`, { rule_id: id, subject }, owner);
    await page.goto(`${stack.baseUrl}/t/${owner.tenant}/audit`);
    await page.getByRole("button", { name: "Reset the counter of rule login for user u-17" }).waitFor();
    const line = page.getByRole("row", { name: "Created override of login for user u-17" });
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "View of Audit log" }).click();
    await page.getByRole("menuitem", { name: "Export CSV, up to 10,000 rows" }).click();
    const text = await readFile(await (await download).path(), "utf8");
    assert.match(text, /^Event,Change,Actor,IP address,Time\r\n/);
    assert.match(text, /Created override of login for user u-17/);
    await line.getByRole("link").click();
    await heading(page, "Overrides");
    assert.equal(new URL(page.url()).search, `?rule=${id}`);
}

/** The deletion of a rule lists the overrides that were deleted with it. */
async function deletedOverrides(page, shoot) {
    const { data } = await api("GET", `${home}/rules`, undefined, owner);
    const [{ id }] = data;
    const blocked = Array.from({ length: 101 }, (_, at) => ({ rule_id: id, subject: { user: `b-${at}` }, action: "deny" }));
    await api("POST", `${home}/overrides/bulk`, { overrides: blocked }, owner);
    await api("DELETE", `${home}/rules/${id}`, undefined, owner);
    await page.goto(`${stack.baseUrl}/t/${owner.tenant}/audit?action=rule.delete`);
    const title = "Deleted rule login with 102 overrides";
    await page.getByRole("button", { name: title }).click();
    const drawer = page.getByRole("dialog", { name: title });
    await drawer.getByText("All requests, for each user: at least 5 s apart. Shadow").waitFor();
    const table = drawer.getByRole("table", { name: "102 overrides deleted with the rule" });
    await table.getByRole("row", { name: "user u-17 Allow" }).waitFor();
    assert.equal(await table.getByRole("row").count(), 1 + 100);
    await drawer.getByText("And 2 more overrides that the entry does not list").waitFor();
    await shoot("audit-deleted-rule");
    await drawer.getByRole("button", { name: "Close" }).click();
}

async function asViewer(page, shoot) {
    const viewer = await colleague(owner, "looker", "viewer");
    await signOut(page);
    await signIn(page, { ...viewer, next: `/t/${owner.tenant}/audit` });
    await heading(page, "Audit log");
    await page.getByText("You need the Admin role to do this. You are a Viewer.").waitFor();
    await shoot("audit-as-viewer");
    await page.getByLabel("Log", { exact: true }).selectOption({ label: "Your account" });
    await page.getByRole("button", { name: "Signed in" }).first().waitFor();
    assert.equal(await page.getByLabel("Log", { exact: true }).getByRole("option").count(), 2);
    await shoot("audit-of-an-account");
}

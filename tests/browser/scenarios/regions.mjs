// An operator registers regions, changes the addresses of one, makes another the home, and removes them again. The pages of a tenant
// show regions and the reach of rules only while there are regions.
import { strict as assert } from "node:assert";

import { api, fresh, heading, makeOperator, newcomer, scenario, signIn, stack } from "../steps.mjs";

const operator = await newcomer("regional", `Regional ${fresh}`);
await makeOperator(operator);
const [EU, US] = ["https://gate-1.eu.example.com:8443", "https://gate-1.us.example.com:8443"];

await scenario("regions", async ({ page, shoot }) => {
    // Gates of other scenarios start only without regions.
    assert.deepEqual((await regions()).regions, []);
    try {
        await signIn(page, { ...operator, next: `/t/${operator.tenant}/rules/new` });
        await withoutRegions(page);
        await page.goto(`${stack.baseUrl}/operator/regions`);
        await heading(page, "Regions");
        await first(page, shoot);
        await second(page, shoot);
        await filters(page, shoot);
        await page.goto(`${stack.baseUrl}/operator/regions`);
        await edits(page);
        await promotes(page, shoot);
        await removes(page);
        await worldStays(page);
    } finally {
        await api("PUT", "/operator/regions", { home: null, regions: [] }, operator);
    }
});

async function regions() {
    return api("GET", "/operator/regions", undefined, operator);
}

/** Without regions, nothing asks for one. */
async function withoutRegions(page) {
    await heading(page, "New rule");
    await page.getByText(/^Rules live on/).waitFor();
    await page.getByLabel("Consistency").waitFor();
    assert.equal(await page.getByLabel("Counted in").count(), 0);
    for (const [path, name] of [["overview", "Overview"], ["gates", "Gates"]]) {
        await page.goto(`${stack.baseUrl}/t/${operator.tenant}/${path}`);
        await heading(page, name);
        await page.getByText(/^Rules live on/).waitFor();
        assert.equal(await picker(page).count(), 0);
    }
}

/** The gates of this stack are in no region, so a region has no gates and no checks. */
async function filters(page, shoot) {
    await page.goto(`${stack.baseUrl}/t/${operator.tenant}/overview`);
    await picker(page).selectOption("us");
    await page.getByText("Counts and charts are of one region").waitFor();
    assert.equal(new URL(page.url()).searchParams.get("region"), "us");
    await shoot("regions-overview");
    await page.goto(`${stack.baseUrl}/t/${operator.tenant}/gates`);
    const gates = page.getByRole("list", { name: "Gates" }).getByRole("listitem");
    await gates.first().waitFor();
    await shoot("regions-gates");
    await picker(page).selectOption("eu");
    await page.getByText("No gates are running").waitFor();
    assert.equal(await gates.count(), 0);
    await picker(page).selectOption("");
    await gates.first().waitFor();
    await page.goto(`${stack.baseUrl}/t/${operator.tenant}/rules/new`);
    await page.getByLabel("Counted in").waitFor();
    await page.getByText(/ 2 regions × .* = up to .* worldwide\.$/).waitFor();
    await shoot("regions-reach");
}

function picker(page) {
    return page.getByRole("combobox", { name: "Region" });
}

/** A rule that was counted in all regions shows it still, and can be changed. */
async function worldStays(page) {
    const limit = { algorithm: "fixed_window", limit: 5, window_ms: 60_000 };
    const body = { name: "world", count_by: ["user"], limits: [limit], reach: "world" };
    const rule = await api("POST", `/tenants/${operator.tenant}/rules`, body, operator);
    await page.goto(`${stack.baseUrl}/t/${operator.tenant}/rules/${rule.id}/edit`);
    const reach = page.getByLabel("Counted in");
    await reach.selectOption({ label: "Each region" });
    await page.getByText("Every region counts by itself").waitFor();
}

/** Without regions the page says how to set them up; the first one is the home. */
async function first(page, shoot) {
    await page.getByText("weir region-key", { exact: true }).waitFor();
    await page.getByText("weir regions add eu --gates https://gate-1.eu.example.com:8443 --home", { exact: true }).waitFor();
    await shoot("regions-none");
    await page.getByRole("button", { name: "Add region" }).press("Enter");
    const form = page.getByRole("dialog", { name: "Region" });
    await form.getByText("The first region is the home.").waitFor();
    await form.getByLabel("Name").fill("eu");
    await form.getByLabel("Addresses of its gates").fill(EU);
    await page.keyboard.press("Enter");
    await row(page, "eu").getByText("Home", { exact: true }).waitFor();
    assert.deepEqual(await regions(), { home: "eu", regions: [{ name: "eu", gates: [EU] }] });
}

/** A wrong address is named by the server, and the form stays. */
async function second(page, shoot) {
    await page.getByRole("button", { name: "Add region" }).click();
    const form = page.getByRole("dialog", { name: "Region" });
    await form.getByLabel("Name").fill("us");
    await form.getByLabel("Addresses of its gates").fill("gate-1.us.example.com");
    page.expectFault(/status 422: PUT .*\/operator\/regions/);
    page.expectFault(/console: Failed to load resource.*422/);
    await form.getByRole("button", { name: "Save region" }).click();
    await form.getByRole("alert").getByText("must be an address such as").waitFor();
    await shoot("regions-refused");
    await form.getByLabel("Addresses of its gates").fill(US);
    await form.getByRole("button", { name: "Save region" }).click();
    await row(page, "us").getByText(US).waitFor();
    await shoot("regions");
    assert.equal(await row(page, "us").getByText("Home", { exact: true }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Remove eu" }).count(), 0, "the home stays while there are others");
}

async function edits(page) {
    await page.getByRole("button", { name: "Edit us" }).click();
    const form = page.getByRole("dialog", { name: "Region" });
    assert.equal(await form.getByLabel("Name").inputValue(), "us");
    await form.getByLabel("Addresses of its gates").fill(`${US}, https://gate-2.us.example.com:8443`);
    await form.getByRole("button", { name: "Save region" }).click();
    await row(page, "us").getByText("https://gate-2.us.example.com:8443").waitFor();
    assert.equal((await regions()).regions[1].gates.length, 2);
}

async function promotes(page, shoot) {
    await page.getByRole("button", { name: "Promote us" }).click();
    const dialog = page.getByRole("dialog", { name: "Make this region the home?" });
    await dialog.getByText("each limit with reach world admits at most its units once more").waitFor();
    await shoot("regions-promote");
    await dialog.getByLabel("Type us to confirm").fill("us");
    await dialog.getByRole("button", { name: "Promote" }).click();
    await row(page, "us").getByText("Home", { exact: true }).waitFor();
    assert.equal((await regions()).home, "us");
}

async function removes(page) {
    for (const name of ["eu", "us"]) {
        await page.getByRole("button", { name: `Remove ${name}` }).click();
        const dialog = page.getByRole("dialog", { name: "Remove this region?" });
        await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
        await dialog.getByRole("button", { name: "Remove" }).click();
        await row(page, name).waitFor({ state: "detached" });
    }
    await page.getByText("No regions", { exact: true }).waitFor();
    assert.deepEqual(await regions(), { home: null, regions: [] });
}

function row(page, name) {
    return page.getByRole("region", { name: "Regions" }).getByRole("row", { name: new RegExp(`^${name}\\b`) });
}

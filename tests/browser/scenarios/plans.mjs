// The customer attribute, a plan with limits and one that denies, a new revision that present customers do not get, a revert, the
// refusals of the API, and the page of a viewer.
import { strict as assert } from "node:assert";

import { api, colleague, heading, newcomer, scenario, signIn } from "../steps.mjs";

const owner = await newcomer("plans");
const tenant = `/tenants/${owner.tenant}`;
const home = `/t/${owner.tenant}`;
const limits = [{ algorithm: "fixed_window", limit: 100, window_ms: 60_000 }];
for (const [name, count_by] of [["requests", ["org"]], ["exports", ["org", "user"]], ["logins", ["ip"]]]) {
    await api("POST", `${tenant}/rules`, { namespace: "api", name, count_by, limits }, owner);
}

await scenario("plans", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `${home}/plans` });
    await heading(page, "Plans");
    await page.getByText("Which attribute names your customers?").waitFor();
    await shoot("plans-no-attribute");
    await page.getByLabel("Customer attribute").fill("Org");
    await page.getByText("Must be 1 to 64 lower-case letters").waitFor();
    await page.getByLabel("Customer attribute").fill("org");
    await page.getByLabel("Customer attribute").press("Enter");
    await page.getByText("No plans yet").waitFor();
    await shoot("plans-nothing");
    await create(page, shoot);
    await edit(page, shoot);
    await revert(page, shoot);
    await refusals(page);
    const viewer = await colleague(owner, "plans-viewer", "viewer");
    await scenario("plans of a viewer", async ({ page }) => {
        await signIn(page, { ...viewer, next: `${home}/plans` });
        await heading(page, "Plans");
        await page.getByRole("row", { name: /^pro/ }).waitFor();
        assert.ok(await page.getByRole("button", { name: "New plan" }).isDisabled());
        assert.ok(await page.getByRole("button", { name: "Edit pro" }).isDisabled());
    });
});

/** With the keyboard: the limits of one rule, and no limit for the other. */
async function create(page, shoot) {
    await page.getByRole("button", { name: "New plan" }).press("Enter");
    const form = page.getByRole("dialog", { name: "New plan" });
    await form.getByLabel("Name").fill("pro");
    await form.getByLabel("Description").fill("For companies");
    const rule = form.getByLabel("Rule", { exact: true });
    assert.deepEqual(await rule.locator("option").allTextContents(), ["api / exports", "api / requests"]);
    await rule.selectOption("api / requests");
    await form.getByRole("button", { name: "Add rule" }).press("Enter");
    const requests = form.getByRole("group", { name: "api / requests" });
    await requests.getByText("Without a plan: 100 per minute").waitFor();
    await requests.getByRole("textbox", { name: "Limit" }).fill("0");
    await form.getByRole("button", { name: "Create plan" }).click();
    await requests.getByText("Must be from 1 to").waitFor();
    await requests.getByRole("textbox", { name: "Limit" }).fill("5000");
    await form.getByRole("button", { name: "Add rule" }).press("Enter");
    await form.getByRole("group", { name: "api / exports" }).getByLabel("Effect").selectOption("Allow");
    assert.ok(await form.getByRole("button", { name: "Add rule" }).isDisabled());
    await shoot("plans-form");
    await form.getByRole("button", { name: "Create plan" }).press("Enter");
    const row = page.getByRole("row", { name: /^pro/ });
    await row.getByText("5,000 per minute").waitFor();
    await row.getByText("Allow").waitFor();
}

/** The present customers keep revision 1. */
async function edit(page, shoot) {
    const { data: [plan] } = await api("GET", `${tenant}/plans`, undefined, owner);
    await api("POST", `${tenant}/assignments`, { customer: "acme", plan: plan.id }, owner);
    await page.reload();
    await page.getByRole("button", { name: "Edit pro" }).click();
    const form = page.getByRole("dialog", { name: "Change pro" });
    await form.getByRole("group", { name: "api / requests" }).getByRole("textbox", { name: "Limit" }).fill("6000");
    await form.getByRole("button", { name: "Replay api / requests" }).press("Enter");
    await form.getByText("No checks have been recorded in this namespace yet.").waitFor();
    await form.getByText("No customer of this plan was counted by this rule in the last hour.").waitFor();
    await form.getByRole("button", { name: "Remove api / exports" }).click();
    await form.getByText("The new limits apply to 1 customer at once.").waitFor();
    await form.getByLabel("Keep present customers on revision 1").check();
    await form.getByText("1 customer will keep the present limits.").waitFor();
    await shoot("plans-edit");
    await form.getByRole("button", { name: "Save plan" }).click();
    const row = page.getByRole("row", { name: /^pro/ });
    await row.getByText("6,000 per minute").waitFor();
    await row.getByText("1 on revision 1").waitFor();
    await shoot("plans-table");
}

async function revert(page, shoot) {
    await page.getByRole("button", { name: "Revisions of pro" }).click();
    const history = page.getByRole("dialog", { name: "Revisions of pro" });
    await history.getByText("Revision 2", { exact: true }).click();
    await history.getByRole("region", { name: "Changes in revision 2" }).getByText("api / exports").waitFor();
    await history.getByText("Revision 1", { exact: true }).click();
    await shoot("plans-revisions");
    await history.getByRole("button", { name: "Revert to revision 1" }).click();
    await page.getByRole("dialog", { name: "Revert to revision 1?" }).getByRole("button", { name: "Revert", exact: true }).click();
    await page.getByRole("row", { name: /^pro/ }).getByText("5,000 per minute").waitFor();
}

/** A plan with customers stays, and so does the attribute. */
async function refusals(page) {
    page.expectFault(/status 409: DELETE .*\/plans\//);
    page.expectFault(/console: Failed to load resource.*409.*\/plans\//);
    page.expectFault(/status 409: PATCH .*\/tenants\//);
    page.expectFault(/console: Failed to load resource.*409.*\/tenants\/[^/]*\)/);
    await page.getByRole("button", { name: "Delete pro" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("pro");
    await page.getByRole("button", { name: "Delete plan" }).click();
    await page.getByText(/1 assignments to the plan .*have not ended/).waitFor();
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByLabel("Customer attribute").fill("");
    await page.getByRole("button", { name: "Set attribute" }).click();
    await page.getByText("The tenant has plans, whose customers the attribute names; delete them first").waitFor();
}

// Addresses without a page, and the tenant of others: a page that says so and offers nothing to change.
import { strict as assert } from "node:assert";

import { heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const person = await newcomer("lost");
const stranger = await newcomer("stranger");

await scenario("not found", async ({ page, shoot }) => {
    await signIn(page, { ...person, next: "/nowhere" });
    await missing(page, "Page not found");
    await shoot("not-found");
    await open(page, `/t/${person.tenant}/nowhere`);
    await missing(page, "Page not found");
    await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
    await shoot("not-found-inside");
    await page.getByRole("link", { name: "Back to the dashboard" }).click();
    await page.waitForURL(new RegExp(`/t/${person.tenant}/`));

    // The operator page is for operators alone.
    await open(page, "/operator");
    await missing(page, "Page not found");

    page.expectFault(/status 404: GET .*\/tenants\//);
    page.expectFault(/console: Failed to load resource.*404/);
    for (const tenant of [stranger.tenant, "tenant_nope"]) {
        await open(page, `/t/${tenant}/rules`);
        await missing(page, "Tenant not found");
        assert.equal(await page.getByRole("button", { name: "New rule" }).count(), 0, "nothing can be created here");
        assert.equal(await page.getByRole("link", { name: "New rule" }).count(), 0, "nothing can be created here");
    }
    await shoot("not-found-tenant");
});

async function open(page, path) {
    await page.goto(`${stack.baseUrl}${path}`);
}

/** The page has its heading once, and one main landmark. */
async function missing(page, title) {
    await heading(page, title);
    assert.equal(await page.getByRole("main").count(), 1, `${title}: one main landmark`);
    assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1, `${title}: one title`);
}

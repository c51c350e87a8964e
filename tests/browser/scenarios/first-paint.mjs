// Before the program has arrived, the page has the theme and the density that the person has chosen, whatever the system prefers.
// If it does not arrive, the page says so.
import { strict as assert } from "node:assert";

import { heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const person = await newcomer("owl");
const LIGHT = 200;

await scenario("first paint", async ({ page, shoot }) => {
    await signIn(page, { ...person, next: `/t/${person.tenant}/rules` });
    await heading(page, "Rules");
    assert.ok((await brightness(page)) > LIGHT, "the system is light");
    await page.evaluate(() => localStorage.setItem("weir.theme", "dark"));
    await page.evaluate(() => localStorage.setItem("weir.density", "compact"));

    page.expectFault(/request failed: GET .*\/weir-[^/]*\.wasm/);
    page.expectFault(/page error: Failed to fetch/);
    page.expectFault(/console: Failed to load resource: net::ERR_FAILED/);
    // Not the parts, which the page before may still be prefetching.
    const program = /\/weir-[^/]*\.wasm$/;
    await page.route(program, (route) => route.abort());
    await page.goto(`${stack.baseUrl}/t/${person.tenant}/rules`);
    await heading(page, "Weir could not be loaded");
    assert.equal(await page.getByText("Loading", { exact: true }).count(), 0, "the outline is gone");
    assert.ok((await brightness(page)) < 255 - LIGHT, "dark before the program runs");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.density), "compact");
    await shoot("not-loaded");
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("link", { name: "Reload" }).click();
    await heading(page, "Rules");
    await outline(page, program, shoot);
});

/** D-25: while the program is on its way, the page has the logo and the outline of a card; the program takes their place. */
async function outline(page, program, shoot) {
    let arrives;
    const held = new Promise((done) => (arrives = done));
    await page.route(program, async (route) => {
        await held;
        await route.continue();
    });
    await page.goto(`${stack.baseUrl}/t/${person.tenant}/rules`, { waitUntil: "commit" });
    await page.getByRole("status").filter({ hasText: "Loading" }).waitFor({ state: "attached" });
    await page.locator("#loading .brand").waitFor();
    await shoot("loading");
    arrives();
    await heading(page, "Rules");
    assert.equal(await page.locator("#loading").count(), 0, "the outline is gone");
    await page.unrouteAll({ behavior: "wait" });
}

/** The mean of red, green and blue of the ground, from 0 to 255. */
async function brightness(page) {
    const colour = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map(Number);
    return parts.reduce((sum, part) => sum + part, 0) / parts.length;
}

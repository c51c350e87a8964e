// The empty state of every page of a new tenant.
import { strict as assert } from "node:assert";

import { heading, newcomer, signIn, scenario, walk } from "../steps.mjs";

const person = await newcomer("beginner");

/** The empty states of pages that list data. */
const SAYS = {
    Rules: "No rules yet, so every check is allowed",
    "API keys": "No API keys yet",
};

await scenario("nothing", async ({ page, shoot }) => {
    await signIn(page, { ...person, next: `/t/${person.tenant}/rules` });
    const seen = [];
    await walk(page, async (name) => {
        seen.push(name);
        if (SAYS[name]) await page.getByText(SAYS[name]).first().waitFor();
        assert.equal(await page.getByRole("alert").count(), 0, `${name} has a problem`);
        await shoot(`nothing-${name.toLowerCase().replaceAll(" ", "-")}`);
    });
    for (const name of Object.keys(SAYS)) assert.ok(seen.includes(name), `${name} was not seen`);
    await narrow(page);
});

/** On a phone every page is behind the tab More, and the header leaves room for the page. */
async function narrow(page) {
    await page.setViewportSize({ width: 390, height: 844 });
    const height = (element) => element.getBoundingClientRect().height;
    await walk(page, async (name) => {
        const header = await page.getByRole("complementary").evaluate(height);
        assert.ok(header <= 56, `${name}: the header is ${header} pixels high`);
    });
    await page.getByRole("navigation", { name: "Main pages" }).getByRole("link", { name: "Overview" }).click();
    await heading(page, "Overview");
}

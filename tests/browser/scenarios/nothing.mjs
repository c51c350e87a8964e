// The empty state of every page of a new tenant.
import { strict as assert } from "node:assert";

import { newcomer, signIn, scenario, walk } from "../steps.mjs";

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

/** In a narrow window the navigation scrolls to the current page. */
async function narrow(page) {
    await page.setViewportSize({ width: 390, height: 800 });
    const seen = (link) => {
        const { left, right } = link.getBoundingClientRect();
        return left >= 0 && right <= innerWidth;
    };
    await walk(page, async () => {
        const link = await page.locator("nav [aria-current=page]").elementHandle();
        await page.waitForFunction(seen, link);
    });
}

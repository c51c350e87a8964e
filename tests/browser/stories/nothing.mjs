// The story of a tenant that has nothing yet: every page says so, and what to do about it.
import { strict as assert } from "node:assert";

import { newcomer, signIn, tell, walk } from "../steps.mjs";

const person = await newcomer("beginner");

/** What the pages say that have data to show later. */
const SAYS = {
    Rules: "No rules yet: every check passes.",
    Keys: "No keys yet.",
};

await tell("nothing", async ({ page, shoot }) => {
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

/** Where the navigation does not fit, the present page is the part of it that is seen. */
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

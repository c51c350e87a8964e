// A rule by keyboard alone, and the same page at twice the size.
import { strict as assert } from "node:assert";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { fresh, heading, signIn, tell, walk } from "../steps.mjs";

const folder = process.env.SCREENSHOTS;

await tell("keyboard", async ({ page }) => {
    await signIn(page);
    await heading(page, "Rules");
    await create(page, `typed-${fresh}`);

    const chromium = await zoomed(page);
    await create(page, `large-${fresh}`);
    await walk(page, async (name) => {
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= 720, `${name}: ${wide} pixels wide`);
        // The page's own screenshot would undo the zoom.
        const picture = folder && (await chromium.send("Page.captureScreenshot"));
        if (folder) await writeFile(join(folder, `zoomed-${name.replace(" ", "-")}.png`), picture.data, "base64");
    });
});

/** What 200 % does on a screen of 1440 pixels: every pixel of the page is two of the screen, and half as many fit. */
async function zoomed(page) {
    const chromium = await page.context().newCDPSession(page);
    const metrics = { width: 720, height: 450, deviceScaleFactor: 2, mobile: false };
    await chromium.send("Emulation.setDeviceMetricsOverride", metrics);
    assert.equal(await page.evaluate(() => devicePixelRatio), 2);
    assert.equal(await page.evaluate(() => innerWidth), 720);
    return chromium;
}

async function create(page, name) {
    await page.keyboard.press("Control+k");
    await page.keyboard.type("create");
    await page.getByRole("option", { name: "Create a rule" }).waitFor();
    await page.keyboard.press("Enter");
    await heading(page, "New rule");
    await type(page, page.getByLabel("Name", { exact: true }), name);
    await type(page, page.getByLabel("Count by"), "user");
    await type(page, page.getByRole("textbox", { name: "Limit", exact: true }), "7");
    await reach(page, page.getByRole("button", { name: "Create rule" }));
    await page.keyboard.press("Enter");
    await heading(page, name);
    await page.getByText("All requests, for each user: 7 in any minute, estimated.").first().waitFor();
}

async function type(page, field, text) {
    await reach(page, field);
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text);
}

/** Tab until the element has the keyboard, seen on the screen. */
async function reach(page, element) {
    await element.waitFor();
    for (let presses = 0; presses < 80; presses += 1) {
        await page.keyboard.press("Tab");
        if (await element.evaluate((it) => it === document.activeElement)) {
            const seen = await element.evaluate((it) => {
                const { top, bottom } = it.getBoundingClientRect();
                return bottom > 0 && top < innerHeight;
            });
            assert.ok(seen, "what has the keyboard is on the screen");
            return;
        }
    }
    throw new Error(`Tab does not reach ${element}`);
}

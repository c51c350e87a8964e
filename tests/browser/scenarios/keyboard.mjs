// Creating a rule with the keyboard only, and every page at 200 % zoom.
import { strict as assert } from "node:assert";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { fresh, heading, signIn, scenario, walk } from "../steps.mjs";

const folder = process.env.SCREENSHOTS;

await scenario("keyboard", async ({ page }) => {
    await signIn(page);
    await heading(page, "Overview");
    await create(page, `typed-${fresh}`);

    const chromium = await zoomed(page);
    await create(page, `large-${fresh}`);
    await walk(page, async (name) => {
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= 720, `${name}: ${wide} pixels wide`);
        // Playwright's screenshot would reset the zoom.
        const picture = folder && (await chromium.send("Page.captureScreenshot"));
        if (folder) await writeFile(join(folder, `zoomed-${name.replace(" ", "-")}.png`), picture.data, "base64");
    });
});

/** 200 % zoom on a screen of 1440 pixels: two device pixels per CSS pixel, and a viewport of half the width. */
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
    await page.getByRole("option", { name: "Create rule" }).waitFor();
    await page.keyboard.press("Enter");
    await heading(page, "New rule");
    await type(page, page.getByLabel("Name", { exact: true }), name);
    await type(page, page.getByLabel("Count by"), "user");
    await type(page, page.getByRole("textbox", { name: "Limit", exact: true }), "7");
    await reach(page, page.getByRole("button", { name: "Review changes" }));
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Review changes" }).getByRole("button", { name: "Publish" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await heading(page, name);
    await page.getByText("All requests, for each user: 7 per minute.").first().waitFor();
}

async function type(page, field, text) {
    await reach(page, field);
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text);
}

/** Presses Tab until the element has focus, and asserts that it is visible. */
async function reach(page, element) {
    await element.waitFor();
    for (let presses = 0; presses < 80; presses += 1) {
        await page.keyboard.press("Tab");
        if (await element.evaluate((node) => node === document.activeElement)) {
            const seen = await element.evaluate((node) => {
                const { top, bottom } = node.getBoundingClientRect();
                return bottom > 0 && top < innerHeight;
            });
            assert.ok(seen, "the focused element is visible");
            return;
        }
    }
    throw new Error(`Tab does not reach ${element}`);
}

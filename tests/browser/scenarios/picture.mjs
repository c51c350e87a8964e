// The preview in the rule editor, which simulates the rule while it is edited.
import { strict as assert } from "node:assert";

import { heading, signIn, stack, scenario } from "../steps.mjs";

await scenario("picture", async ({ page, shoot }) => {
    await signIn(page, { next: `/t/${stack.tenant}/rules` });
    await heading(page, "Rules");
    await page.getByRole("link", { name: "New rule" }).click();
    const limit = page.getByRole("group", { name: "Limit" });
    const picture = page.getByRole("region", { name: "Preview" });
    const says = (text) => picture.getByText(text, { exact: true }).waitFor();

    await limit.getByRole("textbox", { name: "Limit", exact: true }).fill("10");
    await limit.getByLabel("Algorithm").selectOption({ label: "Fixed window" });
    await says("20 of 20 requests allowed, 0 denied. Peak: 20 per minute.");
    await says("Worst case: 20 per minute.");
    await picture.getByRole("button", { name: "Pause" }).click();
    await picture.getByRole("button", { name: "Play" }).waitFor();
    await limit.getByLabel("Algorithm").selectOption({ label: "Sliding window log" });
    await says("Worst case: 10 per minute.");
    await says("10 of 20 requests allowed, 10 denied. Peak: 10 per minute.");
    await shoot("picture");

    await limit.getByRole("textbox", { name: "Limit", exact: true }).fill("ten");
    await says("The preview appears when the limits are valid.");
    assert.equal(await picture.getByRole("img").count(), 0, "an invalid rule has no chart");
    await limit.getByRole("textbox", { name: "Limit", exact: true }).fill("10");

    await byHand(page, picture, says);
    await byPointer(page, picture, says);
    await shoot("picture-by-hand");
});

/** A click in the chart adds requests, and another click removes them. */
async function byPointer(page, picture, says) {
    const drawing = picture.getByRole("img");
    const { width, height } = await drawing.boundingBox();
    const click = (part) => drawing.click({ position: { x: (width * part) / 12, y: height / 2 } });
    await click(11.5);
    await says("9 of 9 requests allowed, 0 denied. Peak: 6 per minute.");
    assert.ok(await picture.getByLabel("Requests in slot 12 of 12").isChecked(), "the chart and the checkboxes agree");
    await click(11.5);
    await says("6 of 6 requests allowed, 0 denied. Peak: 6 per minute.");
    await picture.getByLabel("Traffic pattern of one subject").selectOption({ label: "Two bursts" });
    await click(0.5);
    await says("3 of 3 requests allowed, 0 denied. Peak: 3 per minute.");

    const limit = page.getByRole("group", { name: "Limit" });
    await limit.getByLabel("Algorithm").selectOption({ label: "Calendar quota" });
    await picture.getByText("The preview uses months of 30 days").waitFor();
    await neverRenews(limit);
}

/** A quota shows the fields of its period: the calendar, or the end of one that never renews. */
async function neverRenews(limit) {
    await limit.getByLabel("Time zone").waitFor();
    assert.equal(await limit.getByLabel("Ends at").count(), 0);
    await limit.getByLabel("Period").selectOption({ label: "Never renews" });
    await limit.getByLabel("Ends at").fill("tomorrow");
    assert.equal(await limit.getByLabel("Time zone").count(), 0);
    await limit.getByText("must be a time", { exact: false }).waitFor();
    await limit.getByLabel("Ends at").fill("2027-01-01T00:00:00Z");
    await limit.getByText("must be a time", { exact: false }).waitFor({ state: "detached" });
}

/** With the keyboard only: another traffic pattern, requests in two slots, and the table. */
async function byHand(page, picture, says) {
    await picture.getByLabel("Traffic pattern of one subject").selectOption({ label: "Custom" });
    await says("0 of 0 requests allowed, 0 denied. Peak: 0 per minute.");
    await picture.getByLabel("Requests in slot 1 of 12").focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await says("6 of 6 requests allowed, 0 denied. Peak: 6 per minute.");
    await picture.getByText("View as table").focus();
    await page.keyboard.press("Enter");
    const row = picture.getByRole("row").nth(2);
    assert.deepEqual(await row.getByRole("cell").allTextContents(), ["3", "0", "6"]);
}

// The picture's story: the rule editor shows what a rule does while it is written, before anything is saved.
import { strict as assert } from "node:assert";

import { heading, signIn, tell } from "../steps.mjs";

await tell("picture", async ({ page, shoot }) => {
    await signIn(page);
    await heading(page, "Rules");
    await page.getByRole("link", { name: "New rule" }).click();
    const limit = page.getByRole("group", { name: "Limit" });
    const picture = page.getByRole("region", { name: "What it does" });
    const says = (text) => picture.getByText(text, { exact: true }).waitFor();

    await limit.getByLabel("Limit", { exact: true }).fill("10");
    await limit.getByLabel("Algorithm").selectOption({ label: "Fixed window" });
    await says("20 of 20 requests admitted, 0 denied. Most that passed in any minute: 20.");
    await says("Whatever comes, no more than 20 pass in any minute.");
    await limit.getByLabel("Algorithm").selectOption({ label: "Sliding window, exact" });
    await says("Whatever comes, no more than 10 pass in any minute.");
    await says("10 of 20 requests admitted, 10 denied. Most that passed in any minute: 10.");
    await shoot("picture");

    await limit.getByLabel("Limit", { exact: true }).fill("ten");
    await says("Shown once the limits are right.");
    assert.equal(await picture.getByRole("img").count(), 0, "nothing is drawn of what is wrong");
    await limit.getByLabel("Limit", { exact: true }).fill("10");

    await byHand(page, picture, says);
    await byPointer(page, picture, says);
    await shoot("picture-by-hand");
});

/** A click into the drawing puts requests there, and one more takes them away. */
async function byPointer(page, picture, says) {
    const drawing = picture.getByRole("img");
    const { width, height } = await drawing.boundingBox();
    const click = (part) => drawing.click({ position: { x: (width * part) / 12, y: height / 2 } });
    await click(11.5);
    await says("9 of 9 requests admitted, 0 denied. Most that passed in any minute: 6.");
    assert.ok(await picture.getByLabel("Requests in part 12 of 12").isChecked(), "both ways show the same");
    await click(11.5);
    await says("6 of 6 requests admitted, 0 denied. Most that passed in any minute: 6.");
    await picture.getByLabel("Traffic of one subject").selectOption({ label: "Two bursts" });
    await click(0.5);
    await says("3 of 3 requests admitted, 0 denied. Most that passed in any minute: 3.");

    await page.getByRole("group", { name: "Limit" }).getByLabel("Algorithm").selectOption({ label: "Calendar quota" });
    await picture.getByText("Months are drawn with 30 days each").waitFor();
}

/** By keyboard alone: other traffic, two places with requests, and the table. */
async function byHand(page, picture, says) {
    await picture.getByLabel("Traffic of one subject").selectOption({ label: "By hand" });
    await says("0 of 0 requests admitted, 0 denied. Most that passed in any minute: 0.");
    await picture.getByLabel("Requests in part 1 of 12").focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await says("6 of 6 requests admitted, 0 denied. Most that passed in any minute: 6.");
    await picture.getByText("The same as a table").focus();
    await page.keyboard.press("Enter");
    const row = picture.getByRole("row").nth(2);
    assert.deepEqual(await row.getByRole("cell").allTextContents(), ["3", "0", "6"]);
}

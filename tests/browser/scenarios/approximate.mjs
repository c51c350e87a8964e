// A rule with approximate leases: the refusal of a limit that has none, its summary with the bound, and the rule in the list.
import { strict as assert } from "node:assert";

import { fresh, heading, newcomer, publish, signIn, scenario } from "../steps.mjs";

const owner = await newcomer("approximate");
const home = `/t/${owner.tenant}`;
const name = `searches-${fresh}`;
const BOUND = "Approximate consistency: each gate holds up to 50 units, and all gates together can exceed the limit by what they hold.";

await scenario("approximate", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `${home}/rules/new` });
    await heading(page, "New rule");
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Count by").fill("user");
    await edit(page, shoot);
    await review(page, shoot);
    await published(page, shoot);
    await listed(page, shoot);
});

async function edit(page, shoot) {
    const limit = page.getByRole("group", { name: "Limit" });
    const algorithm = limit.getByLabel("Algorithm");
    await algorithm.selectOption({ label: "Sliding window counter" });
    await page.getByText("Redis decides every request", { exact: true }).waitFor();
    await page.getByLabel("Consistency").selectOption({ label: "Approximate" });
    await page.getByText("Leases of a bucket or sliding counter, within a bound", { exact: true }).waitFor();
    await nothingIsCutOff(page);
    await page.getByText("so near the limit as much less can pass; never more.").waitFor();
    await algorithm.selectOption({ label: "Fixed window" });
    const refusal = "Must be Exact or Leased with a limit of the algorithm Fixed window, whose leases never exceed it";
    await page.getByText(refusal, { exact: true }).waitFor();
    await shoot("approximate-refused");
    await algorithm.selectOption({ label: "Token bucket" });
    const capacity = limit.getByRole("textbox", { name: "Capacity", exact: true });
    await capacity.fill("99");
    await page.getByText("Approximate consistency: a limit below 100 is too small for leases, so Redis decides every request.").waitFor();
    await capacity.fill("5000");
    await page.getByText(BOUND).waitFor();
    await page.getByRole("region", { name: "Preview" }).getByRole("img").waitFor();
    await shoot("approximate-editor");
}

/** The chosen options of all selects fit into a narrow window. */
async function nothingIsCutOff(page) {
    await page.setViewportSize({ width: 390, height: 900 });
    const cut = await page.locator("main select").evaluateAll((selects) => {
        const pen = document.createElement("canvas").getContext("2d");
        // The arrow takes about twenty pixels.
        const fits = (select) => {
            const style = getComputedStyle(select);
            pen.font = style.font;
            const text = pen.measureText(select.selectedOptions[0].text).width;
            return text + parseFloat(style.paddingLeft) + parseFloat(style.paddingRight) + 20 <= select.clientWidth;
        };
        return selects.filter((select) => !fits(select)).map((select) => select.selectedOptions[0].text);
    });
    assert.deepEqual(cut, []);
    await page.setViewportSize({ width: 1440, height: 900 });
}

async function review(page, shoot) {
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog", { name: "Review changes" });
    await dialog.getByText(BOUND).waitFor();
    await shoot("approximate-review");
    await dialog.getByRole("button", { name: "Back to editing" }).click();
    await publish(page);
}

async function published(page, shoot) {
    await heading(page, name);
    await page.getByText(/^live on 2 of 2 gates/).waitFor();
    await page.getByText(BOUND).waitFor();
    await shoot("approximate-rule");
}

async function listed(page, shoot) {
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    const row = page.getByRole("row").filter({ has: page.getByRole("link", { name }) });
    await row.getByText("5,000 burst").first().waitFor();
    await shoot("approximate-list");
}

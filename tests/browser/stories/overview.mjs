// The overview's story: checks sent to both gates appear by themselves; a stretch is looked at closer and read by keyboard.
import { strict as assert } from "node:assert";

import { api, check, fresh, heading, newcomer, signIn, stack, tell } from "../steps.mjs";

const owner = await newcomer("watcher");
const name = `login-${fresh}`;
await api("POST", `/tenants/${owner.tenant}/rules`, {
    name,
    count_by: ["user"],
    limits: [{ algorithm: "fixed_window", limit: 3, window_ms: 3600000 }],
}, owner);
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

// Counted once a second, fetched every five.
const SLOWLY = { timeout: 30_000 };

await tell("overview", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/overview` });
    await heading(page, "Overview");
    await page.getByText("None in the last day.").waitFor();
    await shoot("overview-empty");
    await send();
    const tile = (name) => page.locator("dl").getByText(name, { exact: true }).locator("..");
    await tile("Denied").getByText("4", { exact: true }).waitFor(SLOWLY);
    await tile("Allowed").getByText("6", { exact: true }).waitFor(SLOWLY);
    await page.getByRole("region", { name: "Subjects denied most" }).last().getByText("user u-1").waitFor(SLOWLY);
    await page.getByRole("region", { name: "Rules that deny most" }).last().getByRole("link", { name }).waitFor(SLOWLY);
    await page.getByText(/^The present rules are live on 2 of 2 gates/).waitFor(SLOWLY);
    await shoot("overview");
    await inTheList(page, shoot);
    await readByKeyboard(page);
    await lookCloser(page, shoot);
});

/** Two users, five checks each, of which three pass; over both gates in turn. */
async function send() {
    for (let at = 0; at < 10; at += 1) {
        const gate = stack.gates[at % stack.gates.length];
        const answer = await check(gate, secret, { attributes: { user: `u-${at % 2}` } });
        assert.equal(answer.allowed, at < 6, `check ${at}`);
    }
}

/** The list of rules says how much of the last hour was denied. */
async function inTheList(page, shoot) {
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    await page.getByRole("row", { name }).getByText("40 %").waitFor(SLOWLY);
    await shoot("rules-last-hour");
    await page.goBack();
    await heading(page, "Overview");
}

async function readByKeyboard(page) {
    const plot = page.getByRole("img", { name: /^Checks/ });
    await plot.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowRight");
    await page.getByText(/: \d+ allowed, \d+ denied, 0 in shadow$/).waitFor();
    await page.getByText("The same as a table").click();
    await page.getByRole("region", { name: "Numbers" }).getByRole("row").nth(1).waitFor();
    const cells = await page.getByRole("region", { name: "Numbers" }).getByRole("cell").allTextContents();
    const allowed = cells.filter((_, at) => at % 3 === 0).reduce((sum, text) => sum + Number(text), 0);
    assert.equal(allowed, 6, "the table has what the chart has");
}

/** Dragged over: the address says which stretch, and back leads back. */
async function lookCloser(page, shoot) {
    const plot = page.getByRole("img", { name: /^Checks/ });
    const { x, y, width } = await plot.boundingBox();
    await page.mouse.move(x + width * 0.5, y + 50);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.9, y + 50, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/\?from=\d+&to=\d+/);
    await shoot("overview-closer");
    await page.goBack();
    await page.getByRole("button", { name: "24 h" }).click();
    await page.waitForURL(/\?last=24h/);
    await page.getByRole("button", { name: "24 h", pressed: true }).waitFor();
}

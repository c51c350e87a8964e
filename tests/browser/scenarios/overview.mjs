// Checks sent to both gates appear in real time; a range is zoomed into and read by keyboard.
import { strict as assert } from "node:assert";

import { api, check, fresh, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("watcher");
const name = `login-${fresh}`;
await api("POST", `/tenants/${owner.tenant}/rules`, {
    name,
    count_by: ["user"],
    limits: [{ algorithm: "fixed_window", limit: 3, window_ms: 3600000 }],
}, owner);
const watched = `watched-${fresh}`;
await api("POST", `/tenants/${owner.tenant}/rules`, {
    name: watched,
    mode: "shadow",
    count_by: ["user"],
    limits: [{ algorithm: "fixed_window", limit: 3, window_ms: 3600000 }],
}, owner);
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

// Counted once a second, fetched every five.
const SLOWLY = { timeout: 30_000 };

await scenario("overview", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/overview` });
    await heading(page, "Overview");
    await page.getByText("No denials in the last 24 hours").waitFor();
    await shoot("overview-empty");
    await send();
    const tile = (name) => page.locator("dl").getByText(name, { exact: true }).locator("..");
    await tile("Denied").getByText("4", { exact: true }).waitFor(SLOWLY);
    await tile("Allowed").getByText("6", { exact: true }).waitFor(SLOWLY);
    await page.getByRole("region", { name: "Most denied subjects" }).last().getByText("user u-1").first().waitFor(SLOWLY);
    await page.getByText(/^Counted from .+, in steps of 10 minutes\.$/).waitFor();
    const top = page.getByRole("region", { name: "Top rules by denials" }).last();
    await top.getByRole("link", { name }).waitFor(SLOWLY);
    await counts(top, name, ["4", "0"]);
    await counts(top, watched, ["0", "4"]);
    await page.getByText(/^Current rules: live on 2 of 2 gates/).waitFor(SLOWLY);
    await shoot("overview");
    await inTheList(page, shoot);
    await readByKeyboard(page);
    await zoomIn(page, shoot);
    await ages(page);
});

/** What a rule denied, and what it would have denied. */
async function counts(top, rule, expected) {
    const cells = await top.getByRole("row").filter({ hasText: rule }).getByRole("cell").allTextContents();
    assert.deepEqual(cells.slice(1, 3), expected, rule);
}

/** Without a connection the page shows the age of its data. */
async function ages(page) {
    page.expectFault(/request failed: GET/);
    page.expectFault(/console: Failed to load resource: net::ERR_INTERNET_DISCONNECTED/);
    await page.getByRole("button", { name: "1 h" }).click();
    await page.getByText(/^Updated (just now|\d s ago)\.$/).waitFor();
    await page.context().setOffline(true);
    await page.getByText(/^Updated ([6-9]|1\d) s ago\.$/).waitFor({ timeout: 30_000 });
    await page.context().setOffline(false);
}

/** Two users with five checks each, three of them allowed, alternating between the gates. */
async function send() {
    for (let at = 0; at < 10; at += 1) {
        const gate = stack.gates[at % stack.gates.length];
        const answer = await check(gate, secret, { attributes: { user: `u-${at % 2}` } });
        assert.equal(answer.allowed, at < 6, `check ${at}`);
    }
}

/** The rule list shows the share of denials in the last hour. */
async function inTheList(page, shoot) {
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    await page.getByRole("row", { name }).getByText("40%").waitFor(SLOWLY);
    await page.getByRole("row", { name: watched }).getByText("would deny").waitFor();
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
    await page.getByText(/: \d+ allowed, \d+ denied, \d+ would be denied \(not complete yet\)$/).waitFor();
    await page.getByText("View as table").click();
    await page.getByRole("region", { name: "Values" }).getByRole("row").nth(1).waitFor();
    const cells = await page.getByRole("region", { name: "Values" }).getByRole("cell").allTextContents();
    const allowed = cells.filter((_, at) => at % 3 === 0).reduce((sum, text) => sum + Number(text), 0);
    assert.equal(allowed, 6, "the table shows the values of the chart");
}

/** Dragging over the chart sets the range in the URL, and Back restores the previous one. */
async function zoomIn(page, shoot) {
    const plot = page.getByRole("img", { name: /^Checks/ });
    const { x, y, width } = await plot.boundingBox();
    await page.mouse.move(x + width * 0.5, y + 50);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.9, y + 50, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/\?from=\d+&to=\d+/);
    await shoot("overview-zoomed");
    await page.goBack();
    await page.getByRole("button", { name: "24 h" }).click();
    await page.waitForURL(/\?last=24h/);
    await page.getByRole("button", { name: "24 h", pressed: true }).waitFor();
}

// Checks recorded by both gates are replayed against a halved limit, and the change is applied in the editor; a trace with an
// error; recording turned off; the page of a viewer.
import { strict as assert } from "node:assert";

import { api, check, colleague, eventually, fresh, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("asker");
const home = `/t/${owner.tenant}`;
// A bucket that refills once a day, so that the decisions do not depend on the time of the run.
const limits = [{ algorithm: "token_bucket", capacity: 10, refill_tokens: 1, refill_interval_ms: 86_400_000 }];
const name = `per-user-${fresh}`;

await scenario("what-if", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `${home}/what-if` });
    await heading(page, "Replay");
    await page.getByText("No rules yet").waitFor();

    const rule = await api("POST", `/tenants/${owner.tenant}/rules`, { name, count_by: ["user"], limits }, owner);
    const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);
    await page.goto(new URL(`${home}/rules/${rule.id}`, page.url()).href);
    await page.getByRole("main").getByRole("link", { name: "Replay" }).click();
    await heading(page, "Replay");
    await page.getByText("Nothing has been recorded in this namespace yet.").waitFor();
    await shoot("what-if-nothing");

    let denied = 0;
    for (const [user, checks] of [["ada", 12], ["bob", 7], ["cleo", 3]]) {
        for (let at = 0; at < checks; at += 1) {
            const answer = await check(stack.gates[at % 2], secret, { attributes: { user, secret: "is not recorded" } });
            denied += answer.allowed ? 0 : 1;
        }
    }
    assert.equal(denied, 2, "ada's last two");
    await page.getByText("22 of 22 checks recorded, for all subjects").waitFor();

    await page.getByLabel("Capacity").fill("5");
    await page.getByRole("button", { name: "Run replay" }).click();
    await page.getByText("22 checks of 3 subjects. Every check was replayed, so the results are exact.").waitFor();
    const now = page.getByRole("region", { name: "Current" });
    const changed = page.getByRole("region", { name: "Proposed" });
    assert.equal(await number(now, "Allowed"), "20");
    assert.equal(await number(now, "Denied"), String(denied), "what the gates decided");
    assert.equal(await number(changed, "Allowed"), "13");
    assert.equal(await number(changed, "Denied"), "9");
    const notes = await changed.getByRole("definition").allTextContents();
    assert.deepEqual([notes[1], notes[3]], ["59% of checks", "41% of checks"], "the shares add up");
    await page.getByText("2 subjects of 3 would be denied more often.").waitFor();
    const touched = page.getByRole("region", { name: "Affected subjects" }).getByRole("row");
    assert.match(await touched.nth(1).textContent(), /user ada.*2 → 7.*10 → 5/);
    assert.match(await touched.nth(2).textContent(), /user bob.*0 → 2.*7 → 5/);
    await page.getByText("7 more checks denied (+31.9 points), 2 of 3 subjects affected").waitFor();
    await curve(page);
    await inTheUrl(page);
    await savedRun(page, shoot);
    await shoot("what-if-recorded");

    await page.getByRole("button", { name: "Apply to the rule" }).click();
    await heading(page, `Edit ${name}`);
    assert.equal(await page.getByLabel("Capacity").inputValue(), "5");
    await page.getByLabel("Capacity").fill("6");
    await page.getByRole("button", { name: "Replay on recorded traffic" }).click();
    await heading(page, "Replay");
    assert.equal(await page.getByLabel("Capacity").inputValue(), "6", "what the editor had");

    await page.getByLabel("Checks").selectOption({ label: "From a file" });
    page.expectFault(/status 422: POST .*\/simulate/);
    page.expectFault(/console: Failed to load resource.*422.*\/simulate/);
    await trace(page, "time,user\n1000,ada\nnoon,ada\n");
    await page.getByText(/^line 3, column 1: `time` must be/).waitFor();
    await shoot("what-if-mistake");
    await trace(page, `{"time": 1000, "attributes": {"user": "ada"}, "cost": 6}\n{"time": 2000, "attributes": {"user": "ada"}}\n`);
    await page.getByText("2 checks of 1 subject. Every check was replayed").waitFor();
    assert.equal(await number(changed, "Denied"), "1", "one more than the bucket holds");
    await page.getByText("1 subject of 1 would be denied more often.").waitFor();

    await page.getByRole("link", { name: "Settings" }).click();
    const recording = page.getByRole("region", { name: "Recorded checks" });
    await recording.getByRole("button", { name: "Stop recording" }).click();
    await recording.getByText("Recording is off.").waitFor();
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Replay" }).click();
    await page.getByText("Recording is off.").waitFor();
    await page.getByText("22 of 22 checks").waitFor();
    await shoot("what-if-off");
});

const viewer = await colleague(owner, "onlooker", "viewer");
await scenario("what-if, by a viewer", async ({ page }) => {
    await signIn(page, { ...viewer, next: `${home}/what-if` });
    await heading(page, "Replay");
    await page.getByText("22 of 22 checks").waitFor();
    await page.getByRole("button", { name: "Run replay" }).click();
    await page.getByText("None of 3 subjects would be affected.").waitFor();
    const apply = page.getByRole("button", { name: "Apply to the rule" });
    assert.ok(await apply.isDisabled(), "a viewer cannot apply the change");
    await page.getByText("You are a Viewer").waitFor();
});

/** Changed limits survive a reload. */
async function inTheUrl(page) {
    await page.waitForURL(/&limits=/);
    const traffic = page.getByRole("group", { name: "Traffic" }).getByLabel("Checks");
    await traffic.selectOption({ label: "Last 6 hours" });
    await page.waitForURL(/&minutes=360/);
    await page.reload();
    await heading(page, "Replay");
    assert.equal(await page.getByLabel("Capacity").inputValue(), "5", "as before the reload");
    assert.equal(await traffic.locator("option:checked").textContent(), "Last 6 hours");
    await page.getByText(/^7 more checks denied/).waitFor();
    await page.getByRole("button", { name: "Run replay" }).click();
    const result = page.getByRole("heading", { name: "Result" });
    await result.waitFor();
    await eventually("the result has the focus", () => result.evaluate((node) => node === document.activeElement));
}

/** A run is saved under a name, and its result is shown again from the menu. */
async function savedRun(page, shoot) {
    const menu = page.getByRole("button", { name: "Saved runs" });
    await menu.click();
    await page.getByRole("menuitem", { name: "Save or delete runs…" }).click();
    const dialog = page.getByRole("dialog", { name: "Saved runs" });
    await dialog.getByLabel("Name of the current run").fill("Half of it");
    await shoot("what-if-save");
    await dialog.getByRole("button", { name: "Save run" }).click();
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Replay" }).click();
    await heading(page, "Replay");
    await page.getByLabel("Capacity").waitFor();
    assert.equal(await page.getByLabel("Capacity").inputValue(), "10", "the rule as it is");
    await menu.click();
    await page.getByRole("menuitemradio", { name: "Half of it" }).click();
    await page.getByText(/^7 more checks denied/).waitFor();
    assert.equal(await page.getByLabel("Capacity").inputValue(), "5");
    await page.keyboard.press("Escape");
}

/** A changed limit is replayed by itself, then the limits around it; a point of the curve is a limit to try. */
async function curve(page) {
    await page.getByLabel("Capacity").fill("6");
    await page.getByText(/^5 more checks denied/).waitFor();
    await page.getByLabel("Capacity").fill("5");
    await page.getByText(/^7 more checks denied/).waitFor();
    await page.getByText("15 is the smallest of these limits that denies at most 1% of checks (0%).").waitFor({ timeout: 30_000 });
    await page.getByRole("button", { name: "Compare again" }).waitFor({ timeout: 30_000 });
    await page.getByRole("button", { name: "Try 10: 9% denied" }).click();
    await page.getByText("No change in denied checks, 0 of 3 subjects affected").waitFor();
    await page.getByRole("button", { name: "Try 5: 41% denied" }).click();
    await page.getByText(/^7 more checks denied/).waitFor();
}

/** Chooses a file and runs it. */
async function trace(page, text) {
    await page.getByLabel("File").setInputFiles({ name: "trace.txt", mimeType: "text/plain", buffer: Buffer.from(text) });
    await page.getByRole("button", { name: "Run replay" }).click();
}

/** The value of a tile in one of the two results. */
async function number(side, name) {
    const values = await side.getByRole("definition").allTextContents();
    return values[{ Allowed: 0, Denied: 2 }[name]];
}

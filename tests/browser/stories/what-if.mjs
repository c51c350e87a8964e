// The what-if story: real checks through both gates are recorded, a halved limit is replayed on them, and the change is
// taken to the editor; a trace with a mistake; recording turned off; a viewer.
import { strict as assert } from "node:assert";

import { api, check, colleague, fresh, heading, newcomer, signIn, stack, tell } from "../steps.mjs";

const owner = await newcomer("asker");
const home = `/t/${owner.tenant}`;
// A bucket that refills once a day: what it decides does not depend on when exactly the story is told.
const limits = [{ algorithm: "token_bucket", capacity: 10, refill_tokens: 1, refill_interval_ms: 86_400_000 }];
const name = `per-user-${fresh}`;

await tell("what-if", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `${home}/what-if` });
    await heading(page, "What-if");
    await page.getByText("No rules yet.").waitFor();

    const rule = await api("POST", `/tenants/${owner.tenant}/rules`, { name, count_by: ["user"], limits }, owner);
    const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);
    await page.goto(new URL(`${home}/rules/${rule.id}`, page.url()).href);
    await page.getByRole("link", { name: "What if it were another limit?" }).click();
    await heading(page, "What-if");
    await page.getByText("Nothing is recorded of this namespace yet.").waitFor();
    await shoot("what-if-nothing");

    let denied = 0;
    for (const [user, checks] of [["ada", 12], ["bob", 7], ["cleo", 3]]) {
        for (let at = 0; at < checks; at += 1) {
            const answer = await check(stack.gates[at % 2], secret, { attributes: { user, secret: "is not kept" } });
            denied += answer.allowed ? 0 : 1;
        }
    }
    assert.equal(denied, 2, "ada's last two");
    await page.getByText("22 of 22 checks, of all subjects").waitFor();

    await page.getByLabel("Capacity").fill("5");
    await page.getByRole("button", { name: "See what it would do" }).click();
    await page.getByText("22 checks of 3 subjects: all there were, so nothing here is estimated.").waitFor();
    const now = page.getByRole("region", { name: "As it is now" });
    const changed = page.getByRole("region", { name: "As changed" });
    assert.equal(await number(now, "Allowed"), "20");
    assert.equal(await number(now, "Denied"), String(denied), "what the gates decided");
    assert.equal(await number(changed, "Allowed"), "13");
    assert.equal(await number(changed, "Denied"), "9");
    await page.getByText("2 subjects of 3 would be denied more often.").waitFor();
    const touched = page.getByRole("region", { name: "Who would notice" }).getByRole("row");
    assert.match(await touched.nth(1).textContent(), /user ada.*2 → 7.*10 → 5/);
    assert.match(await touched.nth(2).textContent(), /user bob.*0 → 2.*7 → 5/);
    await shoot("what-if-recorded");

    await page.getByRole("button", { name: "Edit the rule with these values" }).click();
    await heading(page, `Edit ${name}`);
    assert.equal(await page.getByLabel("Capacity").inputValue(), "5");
    await page.getByLabel("Capacity").fill("6");
    await page.getByRole("button", { name: "What would it do?" }).click();
    await heading(page, "What-if");
    assert.equal(await page.getByLabel("Capacity").inputValue(), "6", "what the editor had");

    await page.getByLabel("Checks").selectOption({ label: "From a file" });
    page.expectFault(/status 422: POST .*\/simulate/);
    page.expectFault(/console: Failed to load resource.*422.*\/simulate/);
    await trace(page, "time,user\n1000,ada\nnoon,ada\n");
    await page.getByText(/^line 3, column 1: `time` must be/).waitFor();
    await shoot("what-if-mistake");
    await trace(page, `{"time": 1000, "attributes": {"user": "ada"}, "cost": 6}\n{"time": 2000, "attributes": {"user": "ada"}}\n`);
    await page.getByText("2 checks of 1 subject: all there were").waitFor();
    assert.equal(await number(changed, "Denied"), "1", "one more than the bucket holds");
    await page.getByText("1 subject of 1 would be denied more often.").waitFor();

    await page.getByRole("link", { name: "Settings" }).click();
    const recording = page.getByRole("region", { name: "Recorded checks" });
    await recording.getByRole("button", { name: "Stop recording" }).click();
    await recording.getByText("Gates do not record checks.").waitFor();
    await page.getByRole("link", { name: "What-if" }).click();
    await page.getByText("Checks are not recorded at present.").waitFor();
    await page.getByText("22 of 22 checks").waitFor();
    await shoot("what-if-off");
});

const viewer = await colleague(owner, "onlooker", "viewer");
await tell("what-if, by a viewer", async ({ page }) => {
    await signIn(page, { ...viewer, next: `${home}/what-if` });
    await heading(page, "What-if");
    await page.getByText("22 of 22 checks").waitFor();
    await page.getByRole("button", { name: "See what it would do" }).click();
    await page.getByText("Nobody of 3 subjects would notice.").waitFor();
    const apply = page.getByRole("button", { name: "Edit the rule with these values" });
    assert.ok(await apply.isDisabled(), "a viewer changes nothing");
    await page.getByText("you are a viewer").waitFor();
});

/** Chooses a file and runs it. */
async function trace(page, text) {
    await page.getByLabel("File").setInputFiles({ name: "trace.txt", mimeType: "text/plain", buffer: Buffer.from(text) });
    await page.getByRole("button", { name: "See what it would do" }).click();
}

/** The number of a side's tile. */
async function number(side, name) {
    const told = await side.getByRole("definition").allTextContents();
    return told[{ Allowed: 0, Denied: 2 }[name]];
}

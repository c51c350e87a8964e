// Denials appear in real time, wait while the page is paused, and can be filtered.
import { strict as assert } from "node:assert";

import { api, check, fresh, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("onlooker");
const name = `none-${fresh}`;
await api("POST", `/tenants/${owner.tenant}/rules`, { name, action: "deny", count_by: ["user"] }, owner);
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

const limits = [{ algorithm: "fixed_window", limit: 5, window_ms: 60_000 }];
const abused = await api("POST", `/tenants/${owner.tenant}/rules`, { namespace: "abuse", name: `abused-${fresh}`, count_by: ["user"], limits }, owner);
await api("POST", `/tenants/${owner.tenant}/overrides`, { rule_id: abused.id, subject: { user: "u-bad" }, action: "deny" }, owner);

await scenario("live", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/live` });
    await heading(page, "Live");
    await page.getByText("No denials right now").waitFor();
    await shoot("live-empty");
    const denials = page.getByRole("region", { name: "Denials" });
    await deny("u-1");
    await denials.getByText("user u-1").waitFor();

    await page.getByRole("button", { name: "Pause" }).click();
    await deny("u-2");
    const resume = page.getByRole("button", { name: "Resume (1 new denial)" });
    await resume.waitFor();
    assert.equal(await denials.getByText("user u-2").count(), 0, "paused");
    await shoot("live-paused");
    await resume.click();
    await denials.getByText("user u-2").waitFor();

    await page.getByLabel("Filter by subject, rule or namespace").fill("U-1");
    await denials.getByText("user u-2").waitFor({ state: "detached" });
    await denials.getByText(/^\d\d:\d\d:\d\d\.\d{3}$/).first().waitFor();
    await drawer(page, denials, shoot);
    await facets(page, denials);
    await page.getByLabel("Filter by subject, rule or namespace").fill("zzzz");
    await page.getByText("No denials match “zzzz”").waitFor();
    await page.getByLabel("Filter by subject, rule or namespace").fill("u-1");
    await denials.getByRole("link", { name: "Simulate" }).click();
    await heading(page, "Simulate");
    await page.getByText("Would be denied").waitFor();
    assert.equal(await page.getByLabel("Value").inputValue(), "u-1");
    await why(page);
});

/** D-14: a row opens a drawer with the attributes, the rule as it is now, and the ways on. */
async function drawer(page, denials, shoot) {
    await denials.getByRole("button", { name: /^Denial of user u-1 at / }).click();
    const opened = page.getByRole("dialog", { name: `Denied by ${name}` });
    await opened.getByText("u-1", { exact: true }).waitFor();
    await opened.getByRole("article", { name: `${name} in default` }).getByText("Every check is denied").waitFor();
    await opened.getByRole("link", { name: "Simulate" }).waitFor();
    await shoot("live-drawer");
    await page.keyboard.press("Escape");
    await opened.waitFor({ state: "detached" });
}

/** A facet restricts the list, and denials of a subject become one row. */
async function facets(page, denials) {
    await page.getByLabel("Filter by subject, rule or namespace").fill("");
    await denials.getByText("user u-2").waitFor();
    const rule = page.getByRole("group", { name: "Rule" }).getByRole("button", { name });
    await rule.click();
    await page.getByRole("button", { name, pressed: true }).waitFor();
    await rule.click();
    await page.getByRole("img", { name: /^Checks/ }).waitFor();
    await page.getByRole("button", { name: "Group by subject" }).click();
    const groups = page.getByRole("region", { name: "Denials by subject" });
    await groups.getByRole("row").filter({ hasText: "user u-2" }).waitFor();
    await page.getByRole("button", { name: "Group by subject" }).click();
    await denials.getByText("user u-2").waitFor();
}

/** A subject that an override always denies: the denial leads to its reason, and from there to the override. */
async function why(page) {
    const connected = page.waitForResponse((answer) => answer.url().includes("/stats/live"));
    await page.goto(`${stack.baseUrl}/t/${owner.tenant}/live`);
    await connected;
    // D-14: the minute before the page was opened is drawn from the stored statistics.
    await page.getByText("Before this page was opened: averages of 10 seconds.").waitFor({ timeout: 60_000 });
    const answer = await check(stack.gates[0], secret, { namespace: "abuse", attributes: { user: "u-bad" } });
    assert.equal(answer.allowed, false);
    const denial = page.getByRole("region", { name: "Denials" }).getByRole("row").filter({ hasText: "user u-bad" });
    await denial.getByRole("link", { name: "Why" }).first().click();
    await heading(page, "Why was this denied?");
    await page.getByRole("heading", { name: `Denied by ${abused.name} for user u-bad: an override of the subject denies every check` }).waitFor();
    await page.getByText("The override applied then, too.").waitFor();
    await page.getByRole("link", { name: "Open subject" }).click();
    await heading(page, "user u-bad");
    const card = page.getByRole("article", { name: `${abused.name} in abuse` });
    await card.getByText("Override Deny").waitFor();
    await card.getByRole("button", { name: "Remove override" }).waitFor();
    const outright = page.getByRole("article", { name: `${name} in default` });
    await outright.getByText("Every check is denied").waitFor();
    assert.equal(await outright.getByRole("button").count(), 0, "a rule that denies outright has nothing to raise or block");
}

async function deny(user) {
    const answer = await check(stack.gates[0], secret, { attributes: { user } });
    assert.equal(answer.allowed, false);
}

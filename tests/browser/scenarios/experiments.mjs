// An experiment from the editor to its end: two sets of limits, the decisions of each, and a button that adopts one; a share of
// subjects that grows; the week of a schedule.
import { strict as assert } from "node:assert";

import { api, check, eventually, fresh, heading, newcomer, publish, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("experimenter");
const home = `/t/${owner.tenant}`;
const name = `trial-${fresh}`;
const limits = [{ algorithm: "fixed_window", limit: 1, window_ms: 86_400_000 }];
// Statistics are written once a second.
const SLOWLY = { timeout: 30_000 };

await scenario("experiments", async ({ page, shoot }) => {
    const rules = `/tenants/${owner.tenant}/rules`;
    const rule = await api("POST", rules, { name, count_by: ["user"], limits }, owner);
    const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);
    await signIn(page, { ...owner, next: `${home}/rules/${rule.id}/edit` });
    await heading(page, `Edit ${name}`);

    await page.getByRole("button", { name: "Compare with other limits" }).click();
    const variant = (of) => page.getByRole("group", { name: `Variant ${of}`, exact: true });
    assert.equal(await variant("a").getByLabel("% of subjects").inputValue(), "50");
    await variant("b").getByRole("textbox", { name: "Limit", exact: true }).fill("2");
    await page.getByText("Rollout, priority and schedule").click();
    await page.getByLabel("Hours of the week").fill("Mon-Sun 00:00-24:00");
    await page.getByLabel("Time zone").fill("Europe/Berlin");
    await page.getByRole("img", { name: "The rule applies Mon 00:00 to 24:00, Tue" }).waitFor();
    await shoot("experiment-editor");
    await publish(page);
    await heading(page, name);

    // A gate logs ten denials a second.
    for (let user = 0; user < 10; user += 1) {
        for (let at = 0; at < 3; at += 1) await check(stack.gates[at % 2], secret, { attributes: { user: `u-${user}` } });
    }
    const row = (of) => page.getByRole("region", { name: "Decisions by segment" }).getByRole("row", { name: `Variant ${of}` });
    await eventually("both variants and their denied subjects are counted", async () => {
        const { data } = await api("GET", `${rules}/${rule.id}/segments`, undefined, owner);
        const sum = (of) => data.reduce((all, segment) => all + of(segment), 0);
        return sum(({ counts }) => counts.allowed + counts.denied) === 30 && sum((segment) => segment.subjects_denied) === 10;
    });
    await page.reload();
    await row("a").waitFor(SLOWLY);
    const denied = async (of) => (await row(of).getByRole("cell").allTextContents())[4];
    assert.equal(Number(await denied("a")) + Number(await denied("b")), 10, "each subject was denied, and has one variant");
    await shoot("experiment");

    await page.getByRole("button", { name: "Use b for all" }).click();
    await heading(page, `Edit ${name}`);
    assert.equal(await variant("a").count(), 0);
    assert.equal(await page.getByRole("textbox", { name: "Limit", exact: true }).inputValue(), "2");
    await page.getByLabel("Enforce for, in % of subjects").fill("10");
    await publish(page);
    await heading(page, name);
    await page.getByRole("region", { name: "Decisions by segment" }).getByRole("row", { name: "Only counted" }).waitFor(SLOWLY);
    await shoot("share-of-subjects");
    await page.getByRole("button", { name: "Enforce for 50 %" }).click();
    await heading(page, `Edit ${name}`);
    assert.equal(await page.getByLabel("Enforce for, in % of subjects").inputValue(), "50");
});

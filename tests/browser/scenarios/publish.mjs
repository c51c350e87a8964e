// The way of a rule from its draft to the gates: a draft that survives, a suggested limit, a review with a replay, and undo.
import { strict as assert } from "node:assert";

import { api, check, eventually, fresh, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("publisher");
const home = `/t/${owner.tenant}`;
const rules = `/tenants/${owner.tenant}/rules`;
const name = `sending-${fresh}`;
const made = await api("POST", rules, {
    name,
    count_by: ["user"],
    limits: [{ algorithm: "fixed_window", limit: 50, window_ms: 3600000 }],
}, owner);
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

await scenario("publish", async ({ page, shoot }) => {
    // Subject u-n makes n checks, so a limit of 4 denies one of five subjects.
    for (let user = 1; user <= 5; user += 1) {
        for (let at = 0; at < user; at += 1) {
            await check(stack.gates[0], secret, { attributes: { user: `u-${user}` } });
        }
    }
    await eventually("the checks are recorded", async () => {
        const { data } = await api("GET", `/tenants/${owner.tenant}/recorded`, undefined, owner);
        return data.some(({ recorded }) => recorded >= 15);
    });
    await signIn(page, { ...owner, next: `${home}/rules/${made.id}/edit` });
    await heading(page, `Edit ${name}`);
    await draftSurvives(page, shoot);
    await onPhone(page);
    await suggest(page, shoot);
    await unrecorded(page);
    await review(page, shoot);
    await undo(page);
    await asShadow(page);
    await mistakes(page);
});

function limit(page) {
    return page.getByRole("group", { name: "Limit" }).getByRole("textbox", { name: "Limit", exact: true });
}

/** A draft survives other pages and a reload, and is discarded on request. */
async function draftSurvives(page, shoot) {
    await limit(page).fill("many");
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Overview" }).click();
    await heading(page, "Overview");
    await page.goBack();
    await heading(page, `Edit ${name}`);
    await page.getByText("Your unsaved changes are back.").waitFor();
    assert.equal(await limit(page).inputValue(), "many");
    await page.reload();
    await page.getByText("Your unsaved changes are back.").waitFor();
    assert.equal(await limit(page).inputValue(), "many");
    await shoot("rule-draft");
    await page.getByRole("button", { name: "Discard changes" }).click();
    assert.equal(await limit(page).inputValue(), "50");
    await page.reload();
    await heading(page, `Edit ${name}`);
    assert.equal(await limit(page).inputValue(), "50");
    assert.equal(await page.getByText("Your unsaved changes are back.").count(), 0);
}

/** On a phone the foot has one button, and a menu for the others. */
async function onPhone(page) {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Save as shadow" }).waitFor();
    assert.ok(await page.getByRole("button", { name: "Save as shadow" }).isHidden());
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 1440, height: 900 });
}

/** What most subjects need is beside the limit; the smallest limit that denies at most a share of the subjects, and the limits around it. */
async function suggest(page, shoot) {
    await page.getByText(/^p99 of your subjects: 5 per hour, from .+ of traffic$/).waitFor();
    await shoot("rule-percentile");
    await page.getByRole("button", { name: "Use 5" }).click();
    assert.equal(await limit(page).inputValue(), "5");
    await page.getByRole("button", { name: "Suggest from traffic" }).click();
    const drawer = page.getByRole("dialog", { name: "Suggest from traffic" });
    await drawer.getByLabel("It can deny").selectOption({ label: "no subject" });
    await drawer.getByText("5 per hour would have denied 0 of 5 subjects in 15 recorded checks.").waitFor();
    await shoot("rule-suggestion");
    await drawer.getByRole("button", { name: "Try 4: 20% of subjects denied" }).click();
    await drawer.waitFor({ state: "hidden" });
    assert.equal(await limit(page).inputValue(), "4");
}

/** A draft with a condition that the recorded checks cannot answer asks for no suggestion: its problem would be in the console. */
async function unrecorded(page) {
    await page.getByRole("button", { name: "Add condition" }).click();
    const condition = page.getByRole("group", { name: "Condition" });
    await condition.getByLabel("Attribute").fill("never-sent");
    await condition.getByLabel("Value").fill("x");
    await page.reload();
    await page.getByText("Your unsaved changes are back.").waitFor();
    await page.getByRole("button", { name: "Suggest from traffic" }).waitFor();
    assert.equal(await page.getByText(/^p99 of your subjects/).count(), 0);
    await condition.getByRole("button", { name: "Remove condition" }).click();
    assert.equal(await limit(page).inputValue(), "4");
    await limit(page).focus();
}

/** The difference, what a replay of the last hour says, and the gates; then the rule is live. */
async function review(page, shoot) {
    await page.keyboard.press("Control+Enter");
    const dialog = page.getByRole("dialog", { name: "Review changes" });
    await dialog.getByText("This creates revision 2 and goes live on all gates.").waitFor();
    await dialog.getByRole("row", { name: "Limit 50 per hour (fixed window) 4 per hour (fixed window)" }).waitFor();
    await dialog.getByText("1 more check denied (+6.6 points), 1 of 5 subjects affected").waitFor();
    await dialog.getByRole("region", { name: "Affected subjects" }).getByRole("row", { name: "user u-5 0 → 1" }).waitFor();
    await dialog.getByText("Goes live on 2 gates.").waitFor();
    await shoot("rule-review");
    await page.keyboard.press("Control+Enter");
    await heading(page, name);
    await page.getByText(new RegExp(`^Published ${name}, revision 2: live on 2 of 2 gates`)).waitFor();
}

async function undo(page) {
    await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
    await page.getByText(new RegExp(`^${name} is as in revision 1 again`)).waitFor();
    await page.getByText("3, live since rulebook version").waitFor();
    await page.getByRole("link", { name: "Edit rule" }).click();
    await heading(page, `Edit ${name}`);
    assert.equal(await limit(page).inputValue(), "50", "a published draft is gone");
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog", { name: "Review changes" });
    await dialog.getByText("No differences").waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Publish" }).isDisabled());
    await dialog.getByRole("button", { name: "Back to editing" }).click();
}

/** An enforced rule does not become a shadow rule without a review; a new one does, and undo deletes it. */
async function asShadow(page) {
    await page.getByRole("button", { name: "Save as shadow" }).click();
    const dialog = page.getByRole("dialog", { name: "Review changes" });
    await dialog.getByRole("row", { name: "Mode Enforced Shadow" }).waitFor();
    await dialog.getByRole("button", { name: "Back to editing" }).click();
    await page.getByRole("link", { name: "Cancel" }).click();
    await heading(page, name);

    await page.goto(`${stack.baseUrl}${home}/rules/new`);
    await heading(page, "New rule");
    await page.getByLabel("Name", { exact: true }).fill(`tried-${fresh}`);
    await page.getByRole("button", { name: "Save as shadow" }).click();
    await heading(page, `tried-${fresh}`);
    await page.getByText("Shadow: denials are reported but not enforced.").first().waitFor();
    const published = page.locator(".toast").filter({ hasText: `Published tried-${fresh}, revision 1` });
    await published.getByRole("button", { name: "Undo" }).click();
    await heading(page, "Rules");
    await page.getByText(`Deleted rule tried-${fresh}`).waitFor();
}

/** A name that is taken is reported once, and an unknown time zone while it is typed. */
async function mistakes(page) {
    page.expectFault(/status 409: POST/);
    page.expectFault(/console: Failed to load resource.*409/);
    await page.getByRole("link", { name: "New rule" }).click();
    await heading(page, "New rule");
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByRole("dialog", { name: "Review changes" }).getByRole("button", { name: "Publish" }).click();
    await page.getByText("Is already used in this namespace").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0, "the problem is beside its field only");

    await page.getByRole("group", { name: "Limit" }).getByLabel("Algorithm").selectOption({ label: "Calendar quota" });
    const zone = page.getByRole("group", { name: "Limit" }).getByLabel("Time zone");
    await zone.fill("Europe/Berlinn");
    await page.getByText("Must be the name of an IANA time zone").waitFor();
    await zone.fill("Europe/Berlin");
    await page.getByText("Must be the name of an IANA time zone").waitFor({ state: "detached" });
}

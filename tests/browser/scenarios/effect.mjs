// The effect of a raised limit on current subjects, shown before it is saved and confirmed after.
import { strict as assert } from "node:assert";

import { api, check, fresh, heading, newcomer, publish, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("raiser");
const rules = `/tenants/${owner.tenant}/rules`;
const limit = (most, window_ms = 3600000) => ({ algorithm: "sliding_window_log", limit: most, window_ms });
const made = await api("POST", rules, {
    name: `raised-${fresh}`,
    // A condition for which no sample request can be generated.
    match: [{ attribute: "route", op: "regex", value: "^/v[12]/(login|token)$" }],
    count_by: ["user"],
    limits: [limit(3)],
}, owner);
await api("POST", `/tenants/${owner.tenant}/overrides`, { rule_id: made.id, subject: { user: "u-vip" }, action: "allow" }, owner);
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

await scenario("effect", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/overview` });
    await heading(page, "Overview");
    await page.getByText("No denials in the log").waitFor();
    for (const user of ["u-full", "u-full", "u-full", "u-full", "u-full", "u-some"]) await ask(user);
    await page.getByRole("region", { name: "Most denied subjects" }).last().getByText("user u-full").waitFor({ timeout: 30_000 });
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await page.getByRole("link", { name: made.name, exact: true }).click();
    await page.getByRole("link", { name: "Edit rule" }).click();
    await heading(page, `Edit ${made.name}`);
    await stands(page, "user u-full", ["denied 0 of 3 left"]);
    await page.getByText("Current counters. Change a limit to see its effect.").waitFor();
    assert.equal(await page.getByRole("columnheader", { name: "Proposed" }).count(), 0, "nothing is proposed yet");

    const most = page.getByRole("group", { name: "Limit" }).getByRole("textbox", { name: "Limit", exact: true });
    await most.fill("5");
    await stands(page, "user u-full", ["denied 0 of 3 left", "allowed 2 of 5 left"]);
    await stands(page, "user u-some", ["allowed 2 of 3 left", "allowed 4 of 5 left"]);
    await page.getByText("Of 2 subjects, 1 denied now would be allowed.").waitFor();
    await page.getByLabel("Another subject: user").fill("u-vip");
    await page.keyboard.press("Enter");
    await stands(page, "user u-vip", ["always allowed by an override", "always allowed by an override"]);
    const name = page.getByRole("region", { name: "Impact on current subjects" }).getByText("user u-full");
    const lines = await name.evaluate((node) => node.getClientRects().length);
    assert.equal(lines, 1, "the name of a subject does not break");
    await shoot("rule-effect");

    await most.fill("1");
    await page.getByText("Of 3 subjects, 1 allowed now would be denied.").waitFor();
    await most.fill("5");
    await publish(page);
    await heading(page, made.name);
    await page.getByText(/^live on 2 of 2 gates/).waitFor();
    assert.equal((await ask("u-full")).remaining, 1, "the prediction, less this check");
});

async function ask(user) {
    return check(stack.gates[0], secret, { attributes: { user, route: "/v1/login" } });
}

async function stands(page, subject, cells) {
    const row = page.getByRole("region", { name: "Impact on current subjects" }).getByRole("row", { name: `${subject} ${cells.join(" ")}` });
    await row.waitFor();
}

// The story of a limit that is raised: whom it touches now, before it is saved, and that it comes true.
import { strict as assert } from "node:assert";

import { api, check, fresh, heading, newcomer, signIn, stack, tell } from "../steps.mjs";

const owner = await newcomer("raiser");
const rules = `/tenants/${owner.tenant}/rules`;
const limit = (most, window_ms = 3600000) => ({ algorithm: "sliding_window_log", limit: most, window_ms });
const made = await api("POST", rules, {
    name: `raised-${fresh}`,
    // Such as no request could be made up for.
    match: [{ attribute: "route", op: "regex", value: "^/v[12]/(login|token)$" }],
    count_by: ["user"],
    limits: [limit(3)],
}, owner);
await api("POST", `/tenants/${owner.tenant}/overrides`, { rule_id: made.id, subject: { user: "u-vip" }, action: "allow" }, owner);
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

await tell("effect", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/overview` });
    await heading(page, "Overview");
    await page.getByText("None in the last day.").waitFor();
    for (const user of ["u-full", "u-full", "u-full", "u-full", "u-full", "u-some"]) await ask(user);
    await page.getByRole("region", { name: "Subjects denied most" }).last().getByText("user u-full").waitFor({ timeout: 30_000 });
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await page.getByRole("link", { name: made.name }).click();
    await page.getByRole("link", { name: "Edit rule" }).click();
    await heading(page, `Edit ${made.name}`);
    await stands(page, "user u-full", ["denied 0 of 3 left", "denied 0 of 3 left"]);
    await page.getByText("For none of 2 subjects would the next request fare otherwise.").waitFor();

    const most = page.getByRole("group", { name: "Limit" }).getByLabel("Limit", { exact: true });
    await most.fill("5");
    await stands(page, "user u-full", ["denied 0 of 3 left", "passes 2 of 5 left"]);
    await stands(page, "user u-some", ["passes 2 of 3 left", "passes 4 of 5 left"]);
    await page.getByText("Of 2 subjects, 1 denied now would pass.").waitFor();
    await page.getByLabel("Somebody else: user").fill("u-vip");
    await page.keyboard.press("Enter");
    await stands(page, "user u-vip", ["has an override", "has an override"]);
    await shoot("rule-effect");

    await most.fill("1");
    await page.getByText("Of 3 subjects, 1 passing now would be denied.").waitFor();
    await most.fill("5");
    await page.getByRole("button", { name: "Save rule" }).click();
    await heading(page, made.name);
    await page.getByText(/^live on 2 of 2 gates/).waitFor();
    assert.equal((await ask("u-full")).remaining, 1, "as it was foretold, less this one");
});

async function ask(user) {
    return check(stack.gates[0], secret, { attributes: { user, route: "/v1/login" } });
}

async function stands(page, who, cells) {
    const row = page.getByRole("region", { name: "Subjects now" }).getByRole("row", { name: `${who} ${cells.join(" ")}` });
    await row.waitFor();
}

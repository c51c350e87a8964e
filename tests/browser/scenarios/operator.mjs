// An operator changes the ceilings of all tenants and of one tenant, and sees invalid values at their fields.
import { strict as assert } from "node:assert";

import { api, fresh, heading, loaded, makeOperator, newcomer, scenario, signIn } from "../steps.mjs";

const operator = await newcomer("operator");
const owner = await newcomer("bounded", `Bounded ${fresh}`);
await makeOperator(operator);

await scenario("operator", async ({ page, shoot }) => {
    await signIn(page, { ...operator, next: "/operator" });
    await heading(page, "Operator");
    await loaded(page);
    const form = page.getByRole("region", { name: "Ceilings" });
    await invalidValue(form, shoot);
    await rejectedValue(page, form);
    await defaults(form);
    await oneTenant(page, form, shoot);
    await withoutValues(form);
});

/** Out of bounds: the API's message is shown while typing, and nothing can be saved. */
async function invalidValue(form, shoot) {
    const rules = form.getByLabel("Rules", { exact: true });
    await rules.fill("20000");
    await form.getByText("must be from 1 to 10000").waitFor();
    assert.ok(await form.getByRole("button", { name: "Save ceilings" }).isDisabled());
    await shoot("operator-invalid");
    await rules.fill("many");
    await form.getByText("must be a whole number").waitFor();
}

/** A problem that only the server finds is shown at its field too. */
async function rejectedValue(page, form) {
    page.expectFault(/status 422: PUT .*\/operator\/ceilings/);
    page.expectFault(/console: Failed to load resource.*422/);
    const body = {
        type: "about:blank", title: "Invalid", status: 422, code: "invalid", detail: "", request_id: "req_01",
        fields: [{ field: "rules", reason: "must be lower here" }],
    };
    const answer = { status: 422, contentType: "application/problem+json", body: JSON.stringify(body) };
    await page.route(/\/operator\/ceilings$/, (route) => {
        return route.request().method() === "PUT" ? route.fulfill(answer) : route.continue();
    });
    await form.getByLabel("Rules", { exact: true }).fill("9,000");
    await form.getByRole("button", { name: "Save ceilings" }).click();
    await form.getByText("must be lower here").waitFor();
    await page.unrouteAll();
}

async function defaults(form) {
    await form.getByRole("button", { name: "Save ceilings" }).click();
    await form.getByText("Saved.").waitFor();
    assert.equal((await ceilings()).rules, 9000);
}

/** The tenant's own value replaces the default, and is enforced. */
async function oneTenant(page, form, shoot) {
    await choose(form, `Bounded ${fresh}`);
    await form.getByText("Default: 9,000.").waitFor();
    await form.getByLabel("Active API keys").fill("1");
    await form.getByRole("button", { name: "Save ceilings" }).click();
    await form.getByText("Saved.").waitFor();
    await shoot("operator-ceilings");
    assert.equal((await ceilings()).api_keys, 1);
    await page.reload();
    await choose(form, `Bounded ${fresh}`);
    await form.getByText("Default: 9,000.").waitFor();
    assert.equal(await form.getByLabel("Active API keys").inputValue(), "1");
}

/** Empty fields return to the defaults. */
async function withoutValues(form) {
    await form.getByLabel("Active API keys").fill("");
    await form.getByRole("button", { name: "Save ceilings" }).click();
    await form.getByText("Saved.").waitFor();
    await choose(form, "Defaults for all tenants");
    await form.getByText("Default: 10,000.").first().waitFor();
    await form.getByLabel("Rules", { exact: true }).fill("");
    await form.getByRole("button", { name: "Save ceilings" }).click();
    await form.getByText("Saved.").waitFor();
    const { rules, api_keys } = await ceilings();
    assert.deepEqual([rules, api_keys], [10_000, 100]);
}

async function choose(form, label) {
    await form.getByLabel("Applies to").selectOption({ label });
}

/** The values in force for the tenant, as its owner reads them. */
async function ceilings() {
    return (await api("GET", `/tenants/${owner.tenant}/ceilings`, undefined, owner)).in_force;
}

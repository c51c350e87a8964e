// Renaming a tenant and its owner, changing the password, ending a session, and deleting the tenant.
import { strict as assert } from "node:assert";

import { api, fresh, heading, newcomer, signIn, signOut, stack, scenario } from "../steps.mjs";

const owner = await newcomer("settler", "Old name");
const newPassword = "another horse staple";

await scenario("settings", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/settings` });
    await heading(page, "Settings");
    await rename(page);
    await spread(page, shoot);
    await changePassword(page, shoot);
    await endOtherSession(page, shoot);
    await signOut(page);
    await signIn(page, { ...owner, password: newPassword, next: `/t/${owner.tenant}/settings` });
    await heading(page, "Settings");
    assert.equal(await page.getByLabel("Your name").inputValue(), "Ada");
    await deleteTenant(page, shoot);
});

async function rename(page) {
    const name = page.getByLabel("Tenant name");
    await name.fill("x".repeat(101));
    await page.getByText("must be at most 100 characters").waitFor();
    assert.ok(await page.getByRole("button", { name: "Save" }).first().isDisabled());
    await name.fill(`שלום & Söhne ${fresh}`);
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText("Tenant renamed").waitFor();
    assert.ok(await page.getByRole("button", { name: "Save" }).first().isDisabled(), "nothing is left to save");
    await page.getByRole("option", { name: `שלום & Söhne ${fresh}` }).waitFor({ state: "attached" });

    await page.getByLabel("Your name").fill("Ada");
    const saved = page.waitForResponse((answer) => answer.url().endsWith("/me") && answer.request().method() === "PATCH");
    await page.getByRole("button", { name: "Save" }).nth(1).click();
    assert.equal((await saved).status(), 200);
    await page.getByText("Name saved").waitFor();
}

/** A rule that counts by other attributes is named; once it is gone, the counters are spread. */
async function spread(page, shoot) {
    page.expectFault(/status 422: PUT .*\/namespaces\/api/);
    page.expectFault(/console: Failed to load resource.*422.*\/namespaces\/api/);
    const limits = [{ algorithm: "fixed_window", limit: 5, window_ms: 60_000 }];
    const rule = { namespace: "api", name: "each", count_by: ["user"], limits };
    await api("POST", `/tenants/${owner.tenant}/rules`, rule, owner);
    await page.reload();
    await heading(page, "Settings");
    await page.getByRole("button", { name: "Spread api" }).click();
    const dialog = page.getByRole("dialog", { name: "Spread the counters of api?" });
    await dialog.getByLabel("Spread by").fill("region");
    await dialog.getByRole("button", { name: "Begin the counters anew" }).click();
    await dialog.getByText("does not suit the rule `each`").waitFor();
    await shoot("settings-namespace");
    await dialog.getByLabel("Spread by").fill("user");
    await dialog.getByRole("button", { name: "Begin the counters anew" }).click();
    await page.getByText("The counters of api begin anew").waitFor();
    await page.getByRole("row", { name: /^api/ }).getByText("user").waitFor();
}

async function changePassword(page, shoot) {
    page.expectFault(/status 422: POST .*\/me\/password/);
    page.expectFault(/console: Failed to load resource.*422.*\/me\/password/);
    await page.getByLabel("Current password").first().fill("wrong horse staple");
    await page.getByLabel("New password").fill(newPassword);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("is not the current password").waitFor();
    await shoot("settings");
    await page.getByLabel("Current password").first().fill(owner.password);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Password changed. Your other sessions were signed out.").waitFor();
}

/** Another program signs in; its session is listed, and signing it out ends it immediately. */
async function endOtherSession(page, shoot) {
    const answer = await fetch(`${stack.baseUrl}/api/v1/auth/login`, {
        method: "POST",
        headers: { "content-type": "application/json", "user-agent": "a script" },
        body: JSON.stringify({ email: owner.email, password: newPassword }),
    });
    const { access_token: token } = await answer.json();
    await page.reload();
    await heading(page, "Settings");
    const sessions = page.getByRole("region", { name: "Your sessions" });
    await sessions.getByText("This session").waitFor();
    await shoot("settings-sessions");
    await sessions.getByRole("button", { name: "Sign out a script" }).first().click();
    await sessions.getByText("a script").waitFor({ state: "detached" });
    const after = await fetch(`${stack.baseUrl}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(after.status, 401);
}

async function deleteTenant(page, shoot) {
    const name = await page.getByLabel("Tenant name").inputValue();
    await page.getByRole("button", { name: "Delete this tenant…" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete this tenant?" });
    assert.ok(await dialog.getByRole("button", { name: "Delete tenant" }).isDisabled());
    await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
    await shoot("delete-tenant");
    await dialog.getByRole("button", { name: "Delete tenant" }).click();
    await heading(page, "Tenants");
}

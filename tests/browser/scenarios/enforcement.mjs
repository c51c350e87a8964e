// Turning limits off in an emergency: confirmed by name, announced on every page, and turned on again.
import { strict as assert } from "node:assert";

import { heading, newcomer, signIn, scenario } from "../steps.mjs";

const owner = await newcomer("breaker", "Emergency");

await scenario("enforcement", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/settings` });
    await heading(page, "Settings");
    const banner = page.getByRole("alert").filter({ hasText: "Limits are off" });
    assert.equal(await banner.count(), 0);
    await page.getByRole("button", { name: "Turn limits off…" }).click();
    const dialog = page.getByRole("dialog", { name: "Turn all limits off?" });
    assert.ok(await dialog.getByRole("button", { name: "Turn limits off" }).isDisabled());
    await dialog.getByLabel("Type Emergency to confirm").fill("Emergency");
    await dialog.getByRole("button", { name: "Turn limits off" }).click();
    await banner.waitFor();
    await shoot("limits-off");
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    await banner.waitFor();
    await banner.getByRole("link", { name: "Turn limits on in Settings" }).click();
    await page.getByRole("button", { name: "Turn limits on" }).click();
    await banner.waitFor({ state: "detached" });
    await page.getByText("Limits are on.").waitFor();
});

// A rule's story: its rollout, its revisions in words, the way back to one, and an edit that somebody else was faster with.
import { strict as assert } from "node:assert";

import { api, fresh, heading, signIn, stack, tell } from "../steps.mjs";

const path = `/tenants/${stack.tenant}/rules`;
const limit = (most) => ({ algorithm: "fixed_window", limit: most, window_ms: 60000 });
const made = await api("POST", path, { name: `told-${fresh}`, count_by: ["user"], limits: [limit(5)] });

await tell("rule", async ({ page, shoot }) => {
    await change(2, { count_by: ["user"], limits: [limit(50), { algorithm: "spacing", interval_ms: 1000 }] });
    await signIn(page, { next: `/t/${stack.tenant}/rules/${made.id}` });
    await heading(page, made.name);
    await page.getByText(/^live on 2 of 2 gates/).waitFor();
    await revert(page, shoot);
    await staleEdit(page, shoot);
});

/** Somebody else writes the rule; `revision` is the one that comes of it. */
async function change(revision, body) {
    await api("PUT", `${path}/${made.id}`, { name: made.name, ...body }, { ifMatch: revision - 1 });
}

async function revert(page, shoot) {
    await page.getByText("Revision 2", { exact: true }).click();
    const changed = page.getByRole("region", { name: "What revision 2 changed" });
    const first = changed.getByRole("row", { name: "Limit 5 in each minute" });
    await first.getByText("5 in each minute of the clock", { exact: true }).waitFor();
    await first.getByText("50 in each minute of the clock").waitFor();
    await changed.getByRole("row", { name: "Limit none at least 1 s apart" }).waitFor();
    await page.getByText("Revision 1", { exact: true }).click();
    await shoot("rule-revisions");
    await page.getByRole("button", { name: "Revert to revision 1" }).click();
    const dialog = page.getByRole("dialog", { name: "Revert to revision 1?" });
    await dialog.getByRole("row", { name: "Limit at least 1 s apart none" }).waitFor();
    await shoot("rule-revert");
    await dialog.getByRole("button", { name: "Revert", exact: true }).click();
    await page.getByText("3, in force from rulebook version").waitFor();
    await page.getByText(/^live on 2 of 2 gates/).waitFor();
}

/** Both versions are shown, and one's own wins when one says so. */
async function staleEdit(page, shoot) {
    page.expectFault(/status 412: PUT/);
    page.expectFault(/console: Failed to load resource.*412/);
    await page.getByRole("link", { name: "Edit rule" }).click();
    await heading(page, `Edit ${made.name}`);
    const field = page.getByRole("group", { name: "Limit" }).getByLabel("Limit", { exact: true });
    await field.fill("7");
    await change(4, { count_by: ["user"], limits: [limit(8)] });
    await page.getByRole("button", { name: "Save rule" }).click();
    const stale = page.getByRole("alert");
    await stale.getByText("They differ in: limits.").waitFor();
    await stale.getByText("8 in each minute of the clock", { exact: false }).waitFor();
    assert.equal(await field.inputValue(), "7", "nothing typed is lost");
    await shoot("rule-stale");
    await stale.getByRole("button", { name: "Overwrite with mine" }).click();
    await heading(page, made.name);
    await page.getByText("5, in force from rulebook version").waitFor();
    const { limits } = await api("GET", `${path}/${made.id}`);
    assert.equal(limits[0].limit, 7);
}

// The rollout of a rule, its definition, its revisions, a revert, and a concurrent edit.
import { strict as assert } from "node:assert";

import { api, fresh, heading, publish, signIn, stack, scenario } from "../steps.mjs";

const path = `/tenants/${stack.tenant}/rules`;
const limit = (most) => ({ algorithm: "fixed_window", limit: most, window_ms: 60000 });
const made = await api("POST", path, { name: `revised-${fresh}`, count_by: ["user"], limits: [limit(5)] });

await scenario("rule", async ({ page, shoot }) => {
    await change(2, { count_by: ["user"], limits: [limit(50), { algorithm: "spacing", interval_ms: 1000 }] });
    await signIn(page, { next: `/t/${stack.tenant}/rules/${made.id}` });
    await heading(page, made.name);
    await page.getByText(/^live on 2 of 2 gates/).waitFor();
    await mode(page, shoot);
    await revert(page, shoot);
    await staleEdit(page, shoot);
});

/** Saves the rule as another person; `revision` is the resulting revision. */
async function change(revision, body) {
    await api("PUT", `${path}/${made.id}`, { name: made.name, ...body }, { ifMatch: revision - 1 });
}

/** The mode can be changed without the editor, and back. */
async function mode(page, shoot) {
    const modes = page.getByRole("group", { name: `Mode of ${made.name}` });
    const enforced = modes.getByRole("button", { name: "Enforced", pressed: true });
    await enforced.waitFor();
    await modes.getByRole("button", { name: "Shadow" }).click();
    const dialog = page.getByRole("dialog", { name: "Change the mode?" });
    await dialog.getByText("In the last hour: 0 checks, 0 denied.").waitFor();
    await shoot("rule-mode");
    await dialog.getByRole("button", { name: "Set to Shadow" }).click();
    await page.getByText("1 rule set to Shadow").waitFor();
    await modes.getByRole("button", { name: "Shadow", pressed: true }).waitFor();
    await page.getByText("3, live since rulebook version").waitFor();
    assert.equal((await api("GET", `${path}/${made.id}`)).mode, "shadow");
    await page.locator(".toast").filter({ hasText: "1 rule set to Shadow" }).getByRole("button", { name: "Undo" }).click();
    await enforced.waitFor();
    await page.getByText("4, live since rulebook version").waitFor();
}

async function revert(page, shoot) {
    await page.getByRole("tab", { name: "Definition" }).click();
    await page.getByRole("region", { name: "Preview" }).getByRole("img").waitFor();
    await page.getByRole("group", { name: "Copy JSON" }).getByText(`"name": "${made.name}"`).waitFor();
    await shoot("rule-definition");
    await page.getByRole("tab", { name: "History" }).click();
    await page.waitForURL(/\?tab=history/);
    await page.reload();
    await page.getByRole("tab", { name: "History", selected: true }).waitFor();
    await page.getByText("Revision 2", { exact: true }).click();
    const changed = page.getByRole("region", { name: "Changes in revision 2" });
    const first = changed.getByRole("row", { name: "Limit 5 per minute" });
    await first.getByText("5 per minute (fixed window)", { exact: true }).waitFor();
    await first.getByText("50 per minute (fixed window)").waitFor();
    await changed.getByRole("row", { name: "Limit none at least 1 s apart" }).waitFor();
    await page.getByText("Revision 1", { exact: true }).click();
    await shoot("rule-revisions");
    await page.getByRole("button", { name: "Revert to revision 1" }).click();
    const dialog = page.getByRole("dialog", { name: "Revert to revision 1?" });
    await dialog.getByRole("row", { name: "Limit at least 1 s apart none" }).waitFor();
    await shoot("rule-revert");
    await dialog.getByRole("button", { name: "Revert", exact: true }).click();
    await page.getByText(new RegExp(`^Reverted ${made.name}, revision 5: live on 2 of 2 gates`)).waitFor();
    await page.getByText("5, live since rulebook version").waitFor();
    await page.getByText(/^live on 2 of 2 gates/).waitFor();
}

/** Both versions are shown, and saving anyway overwrites the other one. */
async function staleEdit(page, shoot) {
    page.expectFault(/status 412: PUT/);
    page.expectFault(/console: Failed to load resource.*412/);
    await page.getByRole("link", { name: "Edit rule" }).click();
    await heading(page, `Edit ${made.name}`);
    const field = page.getByRole("group", { name: "Limit" }).getByRole("textbox", { name: "Limit", exact: true });
    await field.fill("7");
    await change(6, { count_by: ["user"], limits: [limit(8)] });
    await publish(page);
    const stale = page.getByRole("alert");
    await stale.getByText("Changed: limits.").waitFor();
    await stale.getByText("8 per minute (fixed window)", { exact: false }).waitFor();
    assert.equal(await field.inputValue(), "7", "the input stays");
    await shoot("rule-stale");
    await stale.getByRole("button", { name: "Save mine anyway" }).click();
    await heading(page, made.name);
    await page.getByText("7, live since rulebook version").waitFor();
    const { limits } = await api("GET", `${path}/${made.id}`);
    assert.equal(limits[0].limit, 7);
    await undo(page);
}

/** The confirmation of a publication restores the revision before it, and the page shows it. */
async function undo(page) {
    const published = page.locator(".toast").filter({ hasText: new RegExp(`^Published ${made.name}, revision 7`) });
    await published.getByRole("button", { name: "Undo" }).click();
    await page.getByText(new RegExp(`^${made.name} is as in revision 6 again: live on 2 of 2 gates`)).waitFor();
    await page.getByText("8, live since rulebook version").waitFor();
    const { limits } = await api("GET", `${path}/${made.id}`);
    assert.equal(limits[0].limit, 8);
}

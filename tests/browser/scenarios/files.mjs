// Rules and a profile that files own: their marks, and what the dialogs say before somebody changes, reverts or deletes them.
import { strict as assert } from "node:assert";

import { api, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("files");
const home = `/t/${owner.tenant}`;
const tenant = `/tenants/${owner.tenant}`;
const limits = [{ algorithm: "fixed_window", limit: 5, window_ms: 60000 }];
const rule = (name, limit = 5) => ({ name, count_by: ["user"], limits: [{ ...limits[0], limit }] });
const profile = (header) => ({
    name: "edge",
    reads: "forward_auth",
    attributes: { user: { from: "header", name: header } },
});
const apply = (header, limit) => api("POST", `${tenant}/apply`, {
    set: "shop",
    rules: [{ rule: rule("of-files", limit) }],
    profiles: [{ profile: profile(header) }],
}, owner);

await apply("x-person", 4);
await apply("x-user", 5);
await api("POST", `${tenant}/rules`, rule("of-people"), owner);
const { data } = await api("GET", `${tenant}/rules`, undefined, owner);
const owned = data.find(({ managed_by: set }) => set === "shop");

await scenario("files", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `${home}/proxies` });
    await profiles(page, shoot);
    await page.goto(`${stack.baseUrl}${home}/rules`);
    await heading(page, "Rules");
    await listOfRules(page, shoot);
    await page.goto(`${stack.baseUrl}${home}/rules/${owned.id}`);
    await heading(page, "of-files");
    await oneRule(page);
});

/** The note of a dialog, which is closed afterwards. */
async function says(page, title, text) {
    const dialog = page.getByRole("dialog", { name: title });
    await dialog.getByText(text).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "hidden" });
}

async function profiles(page, shoot) {
    await heading(page, "Proxies");
    await page.getByRole("row", { name: /^edge / }).getByText("As in the files of shop").waitFor();
    const note = "This profile belongs to the files of shop. The next apply of the files undoes this.";
    await page.getByRole("button", { name: "Delete edge" }).click();
    await says(page, "Delete this profile?", note);
    await page.getByRole("button", { name: "Revisions of edge" }).click();
    const history = page.getByRole("dialog", { name: "Revisions of edge" });
    await history.getByText("Revision 1", { exact: true }).click();
    await history.getByRole("button", { name: "Revert to revision 1" }).click();
    await says(page, "Revert to revision 1?", note);
    await history.getByRole("button", { name: "Close" }).click();

    await page.getByRole("button", { name: "Edit edge" }).click();
    const text = page.getByLabel("Profile", { exact: true });
    await text.fill(JSON.stringify(profile("x-edited")));
    const save = page.getByRole("button", { name: "Save profile" });
    assert.ok(await save.isDisabled(), "the change is not confirmed");
    await page.getByLabel("Change it here all the same").check();
    await shoot("files-profile");
    await save.click();
    await page.getByRole("row", { name: /^edge / }).getByText("Differs from the files of shop").waitFor();
}

async function listOfRules(page, shoot) {
    for (const name of ["of-files", "of-people"]) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
    const note = "1 of these 2 rules belongs to the files of shop. The next apply of the files undoes this.";
    await page.getByRole("button", { name: "Change mode (2 rules)" }).click();
    await shoot("files-rules");
    await says(page, "Change the mode?", note);
    const bar = page.getByRole("group", { name: "Selected rules" });
    await bar.getByRole("button", { name: "Delete" }).click();
    await says(page, "Delete these rules?", note);
}

async function oneRule(page) {
    const note = "This rule belongs to the files of shop. The next apply of the files undoes this.";
    await page.getByRole("button", { name: "Delete rule" }).click();
    await says(page, "Delete this rule?", note);
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByText("Revision 1", { exact: true }).click();
    await page.getByRole("button", { name: "Revert to revision 1" }).click();
    await says(page, "Revert to revision 1?", note);
}

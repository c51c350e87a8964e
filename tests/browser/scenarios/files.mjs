// Rules, a profile, overrides and an alert that files own: their marks, and what the dialogs say before somebody changes, reverts,
// undoes or deletes them.
import { strict as assert } from "node:assert";

import { api, change, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

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
// The override ends before a change of an hour would, so the change replaces it.
const soon = new Date(Date.now() + 30 * 60_000).toISOString();
const apply = (header, limit) => api("POST", `${tenant}/apply`, {
    set: "shop",
    rules: [{ rule: rule("of-files", limit) }],
    profiles: [{ profile: profile(header) }],
    overrides: [{ rule: "of-files", subject: { user: "u-1" }, limits: [{ ...limits[0], limit: 40 }], expires_at: soon }],
    alerts: [{ name: "many denials", webhook: "on call", kind: "denial_share", rule: "of-files", share_percent: 20 }],
}, owner);
const overrides = async () => (await api("GET", `${tenant}/overrides`, undefined, owner)).data;

await api("POST", `${tenant}/webhooks`, { name: "on call", url: "https://hooks.example.com/weir" }, owner);

// The page reads the counters every five seconds.
const LATER = { timeout: 30_000 };

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
    await oneRule(page, shoot);
    await page.goto(`${stack.baseUrl}${home}/alerts`);
    await heading(page, "Alerts");
    await alert(page, shoot);
    await page.goto(`${stack.baseUrl}${home}/subjects?attributes=${encodeURIComponent('{"user":"u-1"}')}`);
    await heading(page, "user u-1");
    await subject(page, shoot);
    await page.goto(`${stack.baseUrl}${home}/overrides`);
    await heading(page, "Overrides");
    await deletedOverride(page);
    const [ofFiles] = await overrides();
    await importOverOwned(page, shoot);
    await deletedEdited(page, ofFiles);
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
    const bar = page.getByRole("group", { name: "Selected rules" });
    await bar.getByRole("button", { name: "Mode of the selected rules" }).click();
    await page.getByRole("menuitem", { name: "Set to Shadow" }).click();
    await shoot("files-rules");
    await says(page, "Change the mode?", note);
    await bar.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await says(page, "Delete these rules?", note);
}

async function oneRule(page, shoot) {
    await page.getByText("As in the files of shop").waitFor();
    await shoot("files-rule");
    const note = "This rule belongs to the files of shop. The next apply of the files undoes this.";
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Delete rule" }).click();
    await says(page, "Delete this rule?", note);
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByText("Revision 1", { exact: true }).click();
    await page.getByRole("button", { name: "Revert to revision 1" }).click();
    await says(page, "Revert to revision 1?", note);
}

async function alert(page, shoot) {
    const row = page.getByRole("row", { name: /^many denials / });
    await row.getByText("As in the files of shop").waitFor();
    await shoot("files-alerts");
    await page.getByRole("button", { name: "Delete many denials" }).click();
    await says(page, "Delete this alert?", /This alert belongs to the files of shop\. The next apply of the files undoes this\./);
    await page.getByRole("button", { name: "Edit many denials" }).click();
    await page.getByLabel("Denial rate (%)").fill("30");
    const save = page.getByRole("button", { name: "Save alert" });
    assert.ok(await save.isDisabled(), "the change is not confirmed");
    await page.getByLabel("Change it here all the same").check();
    await shoot("files-alert");
    await save.click();
    await row.getByText("Differs from the files of shop").waitFor();
}

/** A raise asks first, and its undo brings back the override of the files. */
async function subject(page, shoot) {
    const note = "This override belongs to the files of shop. The next apply of the files undoes this.";
    const card = page.getByRole("article", { name: "of-files in default" });
    await card.getByText("As in the files of shop").waitFor();
    await change(page, card, "Raise limits ×2 for 1 h");
    await says(page, "Raise limits ×2 for 1 h?", note);
    const [before] = await overrides();
    assert.deepEqual([before.limits[0].limit, before.edited], [40, false], "nothing was changed");
    await change(page, card, "Raise limits ×2 for 1 h");
    const question = page.getByRole("dialog", { name: "Raise limits ×2 for 1 h?" });
    await question.getByText(note).waitFor();
    await shoot("files-subject");
    await question.getByRole("button", { name: "Raise limits ×2 for 1 h" }).click();
    // A raise starts from the limits of the rule.
    await card.getByText("10 of 10 left").waitFor(LATER);
    await card.getByText("Differs from the files of shop").waitFor();
    const notifications = page.getByRole("status", { name: "Notifications" });
    await notifications.getByRole("button", { name: "Undo" }).click();
    await page.getByText("Restored the override of user u-1").waitFor();
    await card.getByText("40 of 40 left").waitFor(LATER);
    const [after] = await overrides();
    assert.deepEqual([after.managed_by, after.edited, after.expires_at], ["shop", false, before.expires_at]);

    await change(page, card, "Block for 1 h");
    await says(page, "Block for 1 h?", note);
    await card.getByRole("button", { name: "Remove override" }).click();
    await says(page, "Remove override?", note);
    assert.equal((await overrides()).length, 1);
}

/** The undo of a deletion brings the override back into its set. */
async function deletedOverride(page) {
    await page.getByRole("button", { name: "Delete override of user u-1" }).click();
    await page.getByRole("dialog", { name: "Delete this override?" }).getByRole("button", { name: "Delete override" }).click();
    await page.getByText("No overrides yet").waitFor();
    await page.getByRole("status", { name: "Notifications" }).getByRole("button", { name: "Undo" }).first().click();
    await page.getByText("Override restored").waitFor();
    await page.getByText("As in the files of shop").waitFor();
    const [restored] = await overrides();
    assert.deepEqual([restored.managed_by, restored.limits[0].limit], ["shop", 40]);
}

/** An import names the overrides of files that it would change, and asks before it writes anything. */
async function importOverOwned(page, shoot) {
    await page.getByRole("button", { name: "Import CSV" }).click();
    const text = page.getByLabel("Or paste CSV");
    const submit = page.getByRole("button", { name: "Import", exact: true });
    const confirm = page.getByLabel("Import all the same");
    await text.fill("rule,subject.user,limits\nof-people,u-1,9\nof-files,u-1,7");
    await page.getByText("2 overrides ready to import").waitFor();
    await submit.click();
    await page.getByText("The import changes 1 override that belongs to the files of shop. The next apply of the files undoes this change.").waitFor();
    assert.ok(await submit.isDisabled(), "the change is not confirmed");
    assert.deepEqual((await overrides()).map(({ limits }) => limits[0].limit), [40], "nothing was written");
    await shoot("files-import");

    await confirm.check();
    await text.fill("rule,subject.user,limits\nof-people,u-1,9\nof-files,u-1,8");
    await confirm.waitFor({ state: "detached" });
    await submit.click();
    await confirm.check();
    await submit.click();
    await page.getByText("Differs from the files of shop").waitFor();
    const imported = (await overrides()).map(({ managed_by: set, edited, limits }) => [set, edited, limits[0].limit]);
    assert.deepEqual(imported, [["shop", true, 8], [null, false, 9]]);
}

/** The undo of the deletion of an edited override brings its mark back, which an edit to the content of the files removes. */
async function deletedEdited(page, ofFiles) {
    const row = page.getByRole("row", { name: /^user u-1 .*of-files/ });
    await row.getByRole("button", { name: "Delete override of user u-1" }).click();
    await page.getByRole("dialog", { name: "Delete this override?" }).getByRole("button", { name: "Delete override" }).click();
    await row.waitFor({ state: "detached" });
    await page.getByRole("status", { name: "Notifications" }).getByRole("button", { name: "Undo" }).first().click();
    await page.getByText("Override restored").waitFor();
    await row.getByText("Differs from the files of shop").waitFor();
    const restored = (await overrides()).find(({ managed_by: set }) => set === "shop");
    assert.deepEqual([restored.edited, restored.limits[0].limit], [true, 8]);
    const { rule_id, subject, expires_at } = ofFiles;
    const body = { rule_id, subject, limits: ofFiles.limits, expires_at };
    const path = `${tenant}/overrides/${restored.id}`;
    const same = await api("PUT", path, body, { ...owner, ifMatch: restored.revision });
    assert.equal(same.edited, false, "as the files have it");
}

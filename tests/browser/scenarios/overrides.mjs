// An override created and edited in the form, an import and an export, a counter reset, and a deletion.
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";

import { api, check, eventually, fresh, heading, newcomer, signIn, stack, scenario, still } from "../steps.mjs";

const owner = await newcomer("excepter");
const name = `limited-${fresh}`;
await api("POST", `/tenants/${owner.tenant}/rules`, {
    name,
    count_by: ["user"],
    limits: [{ algorithm: "sliding_window_log", limit: 2, window_ms: 3_600_000 }],
}, owner);
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

await scenario("overrides", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/overrides` });
    await heading(page, "Overrides");
    await page.getByText("No overrides yet").waitFor();
    await shoot("overrides-empty");
    await create(page, shoot);
    await limitsAreGrouped(page);
    await expires(page);
    await suggests(page);
    await change(page);
    await wrongDay(page, shoot);
    await staleEdit(page, shoot);
    await importMany(page, shoot);
    await exportAll(page);
    await ofRule(page);
    await resetCounter(page, shoot);
    await remove(page);
});

async function create(page, shoot) {
    await page.getByRole("button", { name: "New override" }).click();
    await page.getByRole("button", { name: "Save override" }).click();
    await page.getByText("Enter a value, or * for any value.").waitFor();
    await page.getByText("These are the limits of the rule. Change one, or choose another effect.").waitFor();
    await page.getByLabel("Subject: user").fill("u-vip");
    await page.getByLabel("Effect").selectOption({ label: "Custom limits" });
    await page.getByRole("group", { name: "Limit" }).getByRole("textbox", { name: "Limit", exact: true }).fill("50");
    const times = await page.getByLabel("Expires").getByRole("option").allTextContents();
    assert.deepEqual(times.slice(1, 5), ["In 1 hour", "In 4 hours", "In 24 hours", "In 7 days"]);
    await page.getByLabel("Expires").selectOption({ label: "In 30 days" });
    await page.getByLabel("Reason").fill("a large customer");
    await shoot("override-new");
    await page.getByRole("button", { name: "Save override" }).click();
    await row(page, "user u-vip").getByText("50 per hour", { exact: true }).waitFor();
    await row(page, "user u-vip").getByText("in 30 d").waitFor();
    const answer = await check(stack.gates[0], secret, { attributes: { user: "u-vip" } });
    assert.equal(answer.limit, 50, "the gate applies the override");
}

/** B32: the legend stands above its fields, and the button apart from the limit. */
async function limitsAreGrouped(page) {
    await page.getByRole("button", { name: "Edit override of user u-vip" }).click();
    const group = page.getByRole("dialog").getByRole("group", { name: "Limits" });
    await group.waitFor();
    await still(page);
    const [legend, limit, button] = await Promise.all([
        group.getByText("Limits", { exact: true }).boundingBox(),
        group.getByRole("group", { name: "Limit", exact: true }).boundingBox(),
        group.getByRole("button", { name: "Add limit" }).boundingBox(),
    ]);
    assert.equal(legend.x, limit.x, "the legend is not indented");
    assert.ok(button.y - (limit.y + limit.height) >= 8, "the button is apart from the limit");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
}

/** An override that ends while it is shown is marked as expired without a reload. */
async function expires(page) {
    const { data } = await api("GET", `/tenants/${owner.tenant}/rules`, undefined, owner);
    const [{ id }] = data;
    const expires_at = new Date(Date.now() + 8000).toISOString();
    await api("POST", `/tenants/${owner.tenant}/overrides`, { rule_id: id, subject: { user: "u-brief" }, action: "allow", expires_at }, owner);
    await page.reload();
    await row(page, "user u-brief").waitFor();
    await row(page, "user u-brief").getByText("Expired").waitFor({ timeout: 30_000 });
    await page.getByRole("button", { name: "Delete override of user u-brief" }).click();
    await row(page, "user u-brief").waitFor({ state: "detached" });
}

/** The subjects that gates have denied are suggested. */
async function suggests(page) {
    const ask = () => check(stack.gates[0], secret, { attributes: { user: "u-seen" } });
    for (const allowed of [true, true, false]) assert.equal((await ask()).allowed, allowed);
    await eventually("the denial is listed", async () => {
        const { data } = await api("GET", `/tenants/${owner.tenant}/stats/denials`, undefined, owner);
        return data.length > 0;
    });
    await page.reload();
    await page.getByRole("button", { name: "New override" }).click();
    const field = page.getByRole("combobox", { name: "Subject: user" });
    const list = await field.getAttribute("list");
    await page.locator(`#${list} option[value=u-seen]`).waitFor({ state: "attached" });
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
}

async function change(page) {
    await page.getByRole("button", { name: "Edit override of user u-vip" }).click();
    await page.getByLabel("Effect").selectOption({ label: "Deny" });
    await page.getByRole("button", { name: "Save override" }).click();
    await row(page, "user u-vip").getByText("Deny").waitFor();
}

/** A past day is reported at its field, and an expiry can be removed. */
async function wrongDay(page, shoot) {
    await page.getByRole("button", { name: "Edit override of user u-vip" }).click();
    const ends = page.getByLabel("Expires");
    assert.match(await ends.locator("option:checked").textContent(), /^Unchanged: /);
    await ends.selectOption({ label: "On a date" });
    await page.getByRole("button", { name: "Save override" }).click();
    await page.getByText("must be a day").waitFor();
    await page.getByLabel("Day", { exact: true }).fill("2020-01-31");
    await page.getByText("must be in the future").waitFor();
    await shoot("override-past-day");
    await ends.selectOption({ label: "Never" });
    await page.getByRole("button", { name: "Save override" }).click();
    await row(page, "user u-vip").getByText("Never").waitFor();
}

/** A concurrent edit: the differences are shown, and either version can be saved. */
async function staleEdit(page, shoot) {
    page.expectFault(/status 412: PUT .*\/overrides\//);
    page.expectFault(/console: Failed to load resource.*412/);
    const edit = page.getByRole("button", { name: "Edit override of user u-vip" });
    const save = page.getByRole("button", { name: "Save override" });
    const differs = page.getByRole("table").filter({ hasText: "Saved" });
    await edit.click();
    await meanwhile("theirs");
    await page.getByLabel("Reason").fill("mine");
    await save.click();
    await page.getByText("Someone else changed this while you were editing").waitFor();
    const row3 = differs.getByRole("row", { name: "Reason" }).getByRole("cell");
    await row3.first().waitFor();
    assert.deepEqual(await row3.allTextContents(), ["theirs", "mine"]);
    assert.deepEqual(await differs.getByRole("row", { name: "Effect" }).getByRole("cell").allTextContents(), [
        "Allow",
        "Deny",
    ]);
    await shoot("override-stale");
    await page.getByRole("button", { name: "Discard my changes" }).click();
    assert.equal(await page.getByLabel("Reason").inputValue(), "theirs");
    await meanwhile("theirs again");
    await page.getByLabel("Reason").fill("mine at last");
    await save.click();
    await page.getByRole("button", { name: "Save mine anyway" }).click();
    await row(page, "user u-vip").getByText("mine at last").waitFor();
}

async function meanwhile(reason) {
    const { data } = await api("GET", `/tenants/${owner.tenant}/overrides?subject=u-vip`, undefined, owner);
    const [{ id, rule_id, subject, revision }] = data;
    const body = { rule_id, subject, action: "allow", reason };
    await api("PUT", `/tenants/${owner.tenant}/overrides/${id}`, body, { ...owner, ifMatch: revision });
}

/** A file of 2001 lines, one of which is invalid at first. */
async function importMany(page, shoot) {
    const lines = Array.from({ length: 2000 }, (_, at) => `default,${name},allow,,,batch,u-${at}`);
    const head = "namespace,rule,action,limits,expires_at,reason,subject.user";
    await page.getByRole("button", { name: "Import CSV" }).click();
    const text = page.getByLabel("Or paste CSV");
    await choose(page, [head, ...lines, `default,${name},perhaps,,,,u-x`]);
    await page.getByRole("alert").getByText("line 2002: unknown action perhaps").waitFor();
    assert.ok(await page.getByRole("button", { name: "Import", exact: true }).isDisabled());
    await shoot("overrides-import");
    await text.fill(`rule;subject.user;limits\n${name};u-few;7\n${name};u-few;8`);
    await page.getByRole("alert").getByText("line 3: duplicate of an earlier line").waitFor();
    await choose(page, [head, ...lines, `default,${name},deny,,,"'=cmd, really",'=u-x`]);
    await page.getByText("2,001 overrides ready to import").waitFor();
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("200 of 2,002 overrides", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Load more" }).click();
    await page.getByText("400 of 2,002 overrides", { exact: true }).waitFor();
    await page.getByLabel("Search subjects").fill("=U-X");
    await row(page, "user =u-x").getByText("=cmd, really").waitFor();
    await page.getByText("1 override", { exact: true }).waitFor();
    await page.getByLabel("Search subjects").fill("");
    await page.getByRole("button", { name: "Load more" }).waitFor();
    await shoot("overrides");
}

async function choose(page, lines) {
    const buffer = Buffer.from(lines.join("\n"));
    await page.getByLabel("File", { exact: true }).setInputFiles({ name: "batch.csv", mimeType: "text/csv", buffer });
}

async function exportAll(page) {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    const text = await readFile(await (await download).path(), "utf8");
    const lines = text.trimEnd().split("\r\n");
    assert.equal(lines.length, 1 + 2002);
    assert.ok(lines.includes(`default,${name},deny,,,,"'=cmd, really",'=u-x`), "formulas are escaped");
}

/** From the rule to its overrides. */
async function ofRule(page) {
    await page.getByRole("region", { name: "Overrides" }).getByRole("link", { name }).first().click();
    await heading(page, name);
    await page.getByRole("link", { name: "more than 200" }).click();
    await heading(page, "Overrides");
    assert.equal(await page.getByLabel("Rule").locator("option:checked").textContent(), `default / ${name}`);
    await page.getByRole("button", { name: "Load more" }).waitFor();
}

async function resetCounter(page, shoot) {
    const ask = () => check(stack.gates[1], secret, { attributes: { user: "u-reset" } });
    for (const allowed of [true, true, false]) assert.equal((await ask()).allowed, allowed);
    await page.getByRole("button", { name: "Reset counters" }).click();
    await page.getByRole("button", { name: "Reset", exact: true }).click();
    await page.getByText("Enter a value.").waitFor();
    await page.getByLabel("Subject: user").fill("u-reset");
    await page.getByRole("button", { name: "Reset", exact: true }).click();
    await page.getByText("Reset 1 counter.").waitFor();
    await shoot("overrides-reset");
    assert.equal((await ask()).allowed, true, "the subject is allowed again");
    await page.getByRole("button", { name: "Cancel" }).click();
}

async function remove(page) {
    await page.getByLabel("Search subjects").fill("u-vip");
    await page.getByRole("button", { name: "Delete override of user u-vip" }).click();
    await page.getByText("No matching overrides").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await row(page, "user u-vip").waitFor();
    await page.getByRole("button", { name: "Delete override of user u-vip" }).click();
    await page.getByText("No matching overrides").waitFor();
}

function row(page, subject) {
    return page.getByRole("region", { name: "Overrides" }).getByRole("row", { name: subject });
}

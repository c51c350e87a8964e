// The first use: sign in, create and edit a rule, create a key, and see checks allowed and then denied.
import { strict as assert } from "node:assert";

import { fresh as suffix, heading, publish, signIn as enter, signOut, scenario } from "../steps.mjs";

const namespace = `scenario-${suffix}`;
const rule = `login-${suffix}`;
const key = `scenario key ${suffix}`;

await scenario("first", async ({ page, shoot }) => {
    await signIn(page, shoot);
    await createRule(page, shoot);
    await editRule(page, shoot);
    await createKey(page, shoot);
    await checkUntilDenied(page, shoot);
    await lookAround(page, shoot);
    await deleteAndRevoke(page, shoot);
    await leave(page);
});

async function signIn(page, shoot) {
    await enter(page);
    await heading(page, "Overview");
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    await page.getByRole("table").waitFor();
    assert.ok((await page.getByRole("row").count()) > 1, "the demo rules are listed");
    await shoot("rules");
}

async function createRule(page, shoot) {
    await page.getByRole("link", { name: "New rule" }).click();
    await heading(page, "New rule");
    await page.getByLabel("Namespace").fill(namespace);
    await page.getByLabel("Name", { exact: true }).fill("Not a name");
    await page.getByText("must be 1 to 63 lower-case letters, digits and hyphens, the first a letter or digit").waitFor();
    await page.getByLabel("Name", { exact: true }).fill(rule);
    await page.getByRole("button", { name: "Add condition" }).click();
    const condition = page.getByRole("group", { name: "Condition" });
    await condition.getByLabel("Attribute").fill("route");
    await condition.getByLabel("Value").fill("/scenario");
    await page.getByLabel("Count by").fill("user");
    const limit = page.getByRole("group", { name: "Limit" });
    await limit.getByLabel("Algorithm").selectOption({ label: "Sliding window log" });
    await limit.getByRole("textbox", { name: "Limit", exact: true }).fill("5");
    await page.getByText("Requests where route is /scenario, for each user: 5 per minute.").waitFor();
    await shoot("rule-editor");
    await publish(page);
    await heading(page, rule);
}

async function editRule(page, shoot) {
    await shoot("rule");
    await page.getByRole("link", { name: "Edit rule" }).click();
    await heading(page, `Edit ${rule}`);
    await page.getByRole("group", { name: "Limit" }).getByRole("textbox", { name: "Limit", exact: true }).fill("3");
    await publish(page);
    await heading(page, rule);
    await page.getByText("Requests where route is /scenario, for each user: 3 per minute.").waitFor();
    await page.getByText("2, live since rulebook version").waitFor();
}

async function createKey(page, shoot) {
    await page.getByRole("link", { name: "API keys" }).click();
    await heading(page, "API keys");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name", { exact: true }).fill(key);
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Copy it now").waitFor();
    await page.getByRole("cell", { name: key, exact: true }).waitFor();
    await shoot("keys");
}

async function checkUntilDenied(page, shoot) {
    await page.getByRole("button", { name: "Saved, send a real check" }).click();
    await heading(page, "Simulate");
    await page.getByLabel("Namespace").fill(namespace);
    const first = page.getByRole("group", { name: "Attribute" }).first();
    await first.getByLabel("Value").fill("u-1");
    await page.getByRole("button", { name: "Add attribute" }).click();
    const second = page.getByRole("group", { name: "Attribute" }).nth(1);
    await second.getByLabel("Attribute", { exact: true }).fill("route");
    await second.getByLabel("Value").fill("/scenario");

    await page.getByRole("button", { name: "Run test" }).click();
    const test = page.getByRole("region", { name: "Simulation" });
    await test.getByText("Would be allowed").waitFor();
    await test.getByText("3 of 3 left").waitFor();

    const real = page.getByRole("region", { name: "Real check" });
    for (const left of [2, 1, 0]) {
        await real.getByRole("button", { name: "Send check" }).click();
        await real.getByText("Allowed", { exact: true }).first().waitFor();
        await real.getByText(`${left} of 3 left`).waitFor();
    }
    await real.getByRole("button", { name: "Send check" }).click();
    await real.getByText("Denied", { exact: true }).first().waitFor();
    await real.getByText(`by ${rule}. Retry in`).waitFor();
    await shoot("try-it");
}

async function lookAround(page, shoot) {
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Gates" }).click();
    await heading(page, "Gates");
    await page.getByText("The current rules are live on").waitFor();
    await shoot("gates");
    await page.reload();
    await heading(page, "Gates");
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    await page.getByLabel("Filter").fill(rule);
    await page.getByText(/^1 of /).waitFor();
}

async function deleteAndRevoke(page, shoot) {
    await page.getByRole("link", { name: rule }).click();
    await heading(page, rule);
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Delete rule" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete this rule?" });
    await dialog.getByLabel(`Type ${rule} to confirm`).fill(rule);
    await shoot("delete-rule");
    await dialog.getByRole("button", { name: "Delete rule" }).click();
    await heading(page, "Rules");
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByRole("button", { name: `Revoke ${key}` }).click();
    const revoke = page.getByRole("dialog", { name: "Revoke this key?" });
    await revoke.getByLabel(`Type ${key} to confirm`).fill(key);
    await revoke.getByRole("button", { name: "Revoke key" }).click();
    await page.getByRole("cell", { name: key, exact: true }).waitFor({ state: "detached" });
}

async function leave(page) {
    await signOut(page);
    assert.equal(new URL(page.url()).search, "", "signing out leaves no link back");
}

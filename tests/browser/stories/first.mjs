// The first story: sign in, make a rule, change it, make a key, and see checks allowed and then denied.
import { strict as assert } from "node:assert";

import { fresh as suffix, heading, signIn as enter, tell } from "../steps.mjs";

const namespace = `story-${suffix}`;
const rule = `login-${suffix}`;
const key = `story key ${suffix}`;

await tell("first", async ({ page, shoot }) => {
    await signIn(page, shoot);
    await createRule(page, shoot);
    await editRule(page, shoot);
    await createKey(page, shoot);
    await checkUntilDenied(page, shoot);
    await lookAround(page, shoot);
    await deleteAndRevoke(page, shoot);
    await signOut(page);
});

async function signIn(page, shoot) {
    await enter(page);
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
    await page.getByText("must match ^[a-z0-9][a-z0-9-]{0,62}$").waitFor();
    await page.getByLabel("Name", { exact: true }).fill(rule);
    await page.getByRole("button", { name: "Add a condition" }).click();
    const condition = page.getByRole("group", { name: "Condition" });
    await condition.getByLabel("Attribute").fill("route");
    await condition.getByLabel("Value").fill("/story");
    await page.getByLabel("Count by").fill("user");
    const limit = page.getByRole("group", { name: "Limit" });
    await limit.getByLabel("Algorithm").selectOption({ label: "Sliding window, exact" });
    await limit.getByLabel("Limit", { exact: true }).fill("5");
    await page.getByText("Requests where route is /story, for each user: 5 in any minute.").waitFor();
    await shoot("rule-editor");
    await page.getByRole("button", { name: "Create rule" }).click();
    await heading(page, rule);
}

async function editRule(page, shoot) {
    await shoot("rule");
    await page.getByRole("link", { name: "Edit rule" }).click();
    await heading(page, `Edit ${rule}`);
    await page.getByRole("group", { name: "Limit" }).getByLabel("Limit", { exact: true }).fill("3");
    await page.getByRole("button", { name: "Save rule" }).click();
    await heading(page, rule);
    await page.getByText("Requests where route is /story, for each user: 3 in any minute.").waitFor();
    await page.getByText("2, in force from rulebook version").waitFor();
}

async function createKey(page, shoot) {
    await page.getByRole("link", { name: "Keys" }).click();
    await heading(page, "Keys");
    await page.getByLabel("Name", { exact: true }).fill(key);
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Store it now").waitFor();
    await page.getByRole("cell", { name: key, exact: true }).waitFor();
    await shoot("keys");
}

async function checkUntilDenied(page, shoot) {
    await page.getByRole("link", { name: "Try it with a real check" }).click();
    await heading(page, "Test");
    await page.getByLabel("Namespace").fill(namespace);
    const first = page.getByRole("group", { name: "Attribute" }).first();
    await first.getByLabel("Value").fill("u-1");
    await page.getByRole("button", { name: "Add an attribute" }).click();
    const second = page.getByRole("group", { name: "Attribute" }).nth(1);
    await second.getByLabel("Attribute", { exact: true }).fill("route");
    await second.getByLabel("Value").fill("/story");

    await page.getByRole("button", { name: "Run the test" }).click();
    const test = page.getByRole("region", { name: "Test", exact: true });
    await test.getByText("Would pass").waitFor();
    await test.getByText("3 of 3 left").waitFor();

    const real = page.getByRole("region", { name: "Real check" });
    for (const left of [2, 1, 0]) {
        await real.getByRole("button", { name: "Send the check" }).click();
        await real.getByText("Allowed", { exact: true }).waitFor();
        await real.getByText(`${left} of 3 left`).waitFor();
    }
    await real.getByRole("button", { name: "Send the check" }).click();
    await real.getByText("Denied", { exact: true }).waitFor();
    await real.getByText(`by ${rule}; the same check could pass again in`).waitFor();
    await shoot("try-it");
}

async function lookAround(page, shoot) {
    await page.getByRole("link", { name: "Replicas" }).click();
    await heading(page, "Replicas");
    await page.getByText("The present rules are live on").waitFor();
    await shoot("replicas");
    await page.reload();
    await heading(page, "Replicas");
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    await page.getByLabel("Filter").fill(rule);
    await page.getByText(/^1 of /).waitFor();
}

async function deleteAndRevoke(page, shoot) {
    await page.getByRole("link", { name: rule }).click();
    await heading(page, rule);
    await page.getByRole("button", { name: "Delete rule" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete this rule?" });
    await dialog.getByLabel(`Type ${rule} to confirm`).fill(rule);
    await shoot("delete-rule");
    await dialog.getByRole("button", { name: "Delete rule" }).click();
    await heading(page, "Rules");
    await page.getByRole("link", { name: "Keys" }).click();
    await page.getByRole("button", { name: `Revoke ${key}` }).click();
    const revoke = page.getByRole("dialog", { name: "Revoke this key?" });
    await revoke.getByLabel(`Type ${key} to confirm`).fill(key);
    await revoke.getByRole("button", { name: "Revoke key" }).click();
    await page.getByRole("cell", { name: key, exact: true }).waitFor({ state: "detached" });
}

async function signOut(page) {
    await page.getByRole("button", { name: "Sign out" }).click();
    await heading(page, "Sign in");
    assert.equal(new URL(page.url()).search, "", "whoever signs out starts anew");
}

// A person with forty tenants: all are listed, and each can be switched to.
import { strict as assert } from "node:assert";

import { api, eventually, fresh, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const person = await newcomer("consultant", "Tenant 01");

await scenario("tenants", async ({ page, shoot }) => {
    for (let at = 2; at <= 40; at += 1) {
        await api("POST", "/tenants", { name: `Tenant ${String(at).padStart(2, "0")}` }, person);
    }
    await signIn(page, { ...person, next: "/tenants" });
    await heading(page, "Tenants");
    await page.getByRole("link", { name: "Tenant 40" }).waitFor();
    assert.equal(await page.getByRole("main").getByRole("listitem").count(), 40);
    assert.equal(await page.getByText("in the last hour").count(), 0, "a long list has no figures");
    await shoot("tenants");
    await page.getByLabel("Filter").fill("tenant 23");
    await page.getByRole("link", { name: "Tenant 40" }).waitFor({ state: "detached" });
    await page.getByText("No checks in the last hour").waitFor();
    await shoot("tenants-filtered");
    await page.getByRole("link", { name: "Tenant 23" }).click();
    await heading(page, "Overview");
    await page.getByRole("link", { name: "Subjects" }).click();
    await heading(page, "Subjects");
    const search = page.getByRole("combobox", { name: "Find a customer" });
    await search.fill("of tenant 23");
    // The same page of the other tenant, with nothing of the one before.
    await switchTo(page, "Tenant 37");
    await heading(page, "Subjects");
    await eventually("an empty form", async () => (await search.inputValue()) === "");
    await switchTo(page, "Tenant 01");
    await page.getByRole("combobox", { name: "Tenant" }).selectOption({ label: "Switch or create tenant…" });
    await heading(page, "Tenants");
    await newTenant(page);
    await whereSignUpIsClosed(page);
});

async function switchTo(page, name) {
    await page.getByRole("combobox", { name: "Tenant" }).selectOption({ label: name });
    const { data } = await api("GET", "/tenants?limit=200", undefined, person);
    const { id } = data.find((tenant) => tenant.name === name);
    await page.waitForURL(`${stack.baseUrl}/t/${id}/**`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await chosen(page, name);
}

async function newTenant(page) {
    const [name, another] = [page.getByLabel("Name"), `Tenant 41 ${fresh}`];
    await name.fill("x".repeat(101));
    await page.getByText("must be at most 100 characters").waitFor();
    assert.ok(await page.getByRole("button", { name: "Create tenant" }).isDisabled());
    await name.fill(another);
    await page.getByRole("button", { name: "Create tenant" }).click();
    await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
    await chosen(page, another);
}

/** Where sign-up is closed, only operators create tenants. */
async function whereSignUpIsClosed(page) {
    const body = JSON.stringify({ signup_open: false });
    await page.route(/\/auth\/options$/, (route) => route.fulfill({ status: 200, contentType: "application/json", body }));
    await page.goto(`${stack.baseUrl}/tenants`);
    await page.getByText("On this installation, operators create tenants.").waitFor();
    assert.equal(await page.getByLabel("Name").count(), 0);
}

async function chosen(page, name) {
    const option = page.getByRole("combobox", { name: "Tenant" }).locator("option:checked", { hasText: name });
    await option.waitFor({ state: "attached" });
}

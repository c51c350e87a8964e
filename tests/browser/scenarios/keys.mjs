// A key that expires on a date, its secret in a dialog that stays until it is stored, a rotation with an overlap during which
// both secrets are valid, and a revocation.
import { strict as assert } from "node:assert";

import { api, check, eventually, fresh, heading, signIn, stack, scenario } from "../steps.mjs";

const name = `billing ${fresh}`;

await scenario("keys", async ({ page, shoot }) => {
    const tenant = await api("POST", "/tenants", { name: `Keys ${fresh}` });
    await signIn(page, { next: `/t/${tenant.id}/keys` });
    await heading(page, "API keys");
    await page.getByText("No API keys yet").waitFor();
    const first = await create(page, shoot);
    await copies(page, first);
    await page.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("button", { name: "New key" }).waitFor();
    await row(page).getByRole("cell", { name: "Never" }).waitFor();
    await passes(first);
    await used(tenant.id);
    await page.reload();
    await row(page).getByRole("cell", { name: /^(just now|\d+ s ago) ?at localhost:/ }).waitFor();
    await row(page).getByRole("cell", { name: "1", exact: true }).waitFor();
    await row(page).getByTitle(/^1 request in the last hour, .* per second; 1 in the last 24 hours$/).waitFor();
    await shoot("keys-used");
    const second = await rotate(page, shoot, "Keep for 24 hours");
    assert.notEqual(first, second, "rotation issues another secret");
    await passes(first);
    await passes(second);
    const third = await rotate(page, shoot, "Revoke immediately");
    await passes(third);
    await revoke(page);
    await restrict(page, shoot);
});

async function create(page, shoot) {
    await page.getByRole("button", { name: "New key" }).click();
    const submit = page.getByRole("button", { name: "Create key" });
    assert.ok(await submit.isDisabled(), "a key needs a name");
    await page.getByLabel("Name", { exact: true }).fill("x".repeat(101));
    await page.getByText("must be at most 100 characters").waitFor();
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Expires").selectOption({ label: "On a date" });
    await page.getByLabel("Expires on").fill("2020-02-29");
    await page.getByText("must be in the future").waitFor();
    assert.ok(await submit.isDisabled());
    await shoot("keys-expiry");
    await page.getByLabel("Expires on").fill(inDays(10));
    await submit.click();
    const secret = await shown(page, `Key ${name}`);
    await row(page).getByText(/^in (9|10|11) d/).waitFor();
    await shoot("keys-secret");
    return secret;
}

async function rotate(page, shoot, overlap) {
    await page.getByRole("button", { name: `Rotate ${name}` }).click();
    const dialog = page.getByRole("dialog", { name: `Rotate ${name}?` });
    await dialog.getByLabel("Old secret").selectOption({ label: overlap });
    await shoot("keys-rotate");
    await dialog.getByRole("button", { name: "Rotate key" }).click();
    const secret = await shown(page, `New secret of ${name}`);
    if (overlap.startsWith("Keep")) {
        await row(page).getByText("old secret valid until").waitFor();
        await shoot("keys-rotated");
    } else {
        await page.getByText("The old secret has been revoked.").waitFor();
    }
    await page.getByRole("button", { name: "I have saved it" }).click();
    return secret;
}

async function revoke(page) {
    await page.getByRole("button", { name: `Revoke ${name}` }).click();
    const dialog = page.getByRole("dialog", { name: "Revoke this key?" });
    await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
    await dialog.getByRole("button", { name: "Revoke key" }).click();
    await page.getByText("No API keys yet").waitFor();
}

/** A key for automation that is restricted to two namespaces. */
async function restrict(page, shoot) {
    await page.getByRole("button", { name: "New key" }).click();
    const namespaces = page.getByLabel("Only in these namespaces");
    assert.equal(await namespaces.count(), 0, "a key for the gates has no namespaces");
    await page.getByLabel(/^check:/).uncheck();
    await page.getByLabel(/^write:/).check();
    await page.getByLabel("Name", { exact: true }).fill(name);
    await namespaces.fill("payments, Web");
    await page.getByText("`Web` must be 1 to 63 lower-case letters").waitFor();
    assert.ok(await page.getByRole("button", { name: "Create key" }).isDisabled());
    await namespaces.fill("payments, web");
    await shoot("keys-namespaces");
    await page.getByRole("button", { name: "Create key" }).click();
    await shown(page, `Key ${name}`);
    await page.getByRole("button", { name: "I have saved it" }).click();
    await row(page).getByText("payments", { exact: true }).waitFor();
    await row(page).getByText("web", { exact: true }).waitFor();
    await shoot("keys-restricted");
}

/** The displayed secret. The button that copies it has focus, and Escape does not close the dialog. */
async function shown(page, title) {
    const dialog = page.getByRole("dialog", { name: title });
    await dialog.waitFor();
    const secret = await dialog.getByRole("group", { name: "Copy key" }).locator("code").textContent();
    assert.match(secret, /^weir_/);
    await page.waitForFunction(() => document.activeElement?.textContent === "Copy key");
    for (let press = 0; press < 3; press += 1) await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    assert.ok(await dialog.isVisible(), "the dialog stays until the secret is stored");
    return secret;
}

/** The copied text is the secret, and the button says so. */
async function copies(page, secret) {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy key" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
}

async function passes(secret) {
    const answer = await check(stack.gates[0], secret, { attributes: { user: "u-1" } });
    assert.equal(answer.allowed, true);
}

/** Gates report every few seconds which keys were used. */
async function used(tenant) {
    await eventually("the use of the key is reported", async () => {
        const { data } = await api("GET", `/tenants/${tenant}/keys`);
        return data.every(({ last_used_at: at }) => at !== null);
    });
}

function row(page) {
    return page.getByRole("row", { name });
}

function inDays(days) {
    const day = new Date(Date.now() + days * 86_400_000);
    const two = (number) => String(number).padStart(2, "0");
    return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

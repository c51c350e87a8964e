// The keys' story: one that ends on a day, a rotation with an overlap during which both secrets pass, and the revocation.
import { strict as assert } from "node:assert";

import { api, check, eventually, fresh, heading, signIn, stack, tell } from "../steps.mjs";

const name = `billing ${fresh}`;

await tell("keys", async ({ page, shoot }) => {
    const tenant = await api("POST", "/tenants", { name: `Keys ${fresh}` });
    await signIn(page, { next: `/t/${tenant.id}/keys` });
    await heading(page, "Keys");
    await page.getByText("No keys yet.").waitFor();
    const first = await create(page, shoot);
    await page.getByRole("button", { name: "I stored it" }).click();
    await page.getByRole("button", { name: "Create key" }).waitFor();
    await row(page).getByRole("cell", { name: "not yet" }).waitFor();
    await passes(first);
    await used(tenant.id);
    await page.reload();
    await row(page).getByRole("cell", { name: /^(just now|\d+ s ago)$/ }).waitFor();
    const second = await rotate(page, shoot, "for 24 hours");
    assert.notEqual(first, second, "a rotation gives another secret");
    await passes(first);
    await passes(second);
    const third = await rotate(page, shoot, "not at all: it ends at once");
    await passes(third);
    await revoke(page);
});

async function create(page, shoot) {
    const submit = page.getByRole("button", { name: "Create key" });
    assert.ok(await submit.isDisabled(), "without a name there is nothing to create");
    await page.getByLabel("Name", { exact: true }).fill("x".repeat(101));
    await page.getByText("must be at most 100 characters").waitFor();
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Expires").selectOption({ label: "at the end of a day" });
    await page.getByLabel("Last day").fill("2020-02-29");
    await page.getByText("must be in the future").waitFor();
    assert.ok(await submit.isDisabled());
    await shoot("keys-expiry");
    await page.getByLabel("Last day").fill(inDays(10));
    await submit.click();
    const secret = await shown(page, `Key ${name}`);
    await row(page).getByText(/^in (9|10) d/).waitFor();
    await shoot("keys-secret");
    return secret;
}

async function rotate(page, shoot, overlap) {
    await page.getByRole("button", { name: `Rotate ${name}` }).click();
    const dialog = page.getByRole("dialog", { name: `Give ${name} a new secret?` });
    await dialog.getByLabel("The old secret goes on working").selectOption({ label: overlap });
    await shoot("keys-rotate");
    await dialog.getByRole("button", { name: "Rotate key" }).click();
    const secret = await shown(page, `New secret of ${name}`);
    if (overlap.startsWith("for")) {
        await row(page).getByText("old secret works until").waitFor();
        await shoot("keys-rotated");
    } else {
        await page.getByText("The old secret has stopped working.").waitFor();
    }
    await page.getByRole("button", { name: "I stored it" }).click();
    return secret;
}

async function revoke(page) {
    await page.getByRole("button", { name: `Revoke ${name}` }).click();
    const dialog = page.getByRole("dialog", { name: "Revoke this key?" });
    await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
    await dialog.getByRole("button", { name: "Revoke key" }).click();
    await page.getByText("No keys yet.").waitFor();
}

/** The secret on screen, with the keyboard at its heading. */
async function shown(page, title) {
    const heading = page.getByRole("heading", { level: 2, name: title });
    await heading.waitFor();
    await page.waitForFunction((title) => document.activeElement?.textContent === title, title);
    const secret = await page.getByRole("group", { name: "Copy the key" }).locator("code").textContent();
    assert.match(secret, /^weir_/);
    return secret;
}

async function passes(secret) {
    const answer = await check(stack.gates[0], secret, { attributes: { user: "u-1" } });
    assert.equal(answer.allowed, true);
}

/** Gates say every few seconds which keys were used. */
async function used(tenant) {
    await eventually("the use of the key is told", async () => {
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

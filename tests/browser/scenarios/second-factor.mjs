// Two-factor authentication: turning it on, the recovery codes that are shown once, and signing in with one of them.
import { strict as assert } from "node:assert";
import { createHmac } from "node:crypto";

import { heading, newcomer, scenario, signIn, signOut } from "../steps.mjs";

const person = await newcomer("careful");
const next = `/t/${person.tenant}/settings`;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

await scenario("second factor", async ({ page, shoot }) => {
    await signIn(page, { ...person, next });
    const section = page.getByRole("region", { name: "Two-factor authentication" });
    await turnOn(page, section, shoot);
    const codes = await storeRecoveryCodes(page, shoot);
    await section.getByText("On. 10 recovery codes are left.").waitFor();
    await signOut(page);
    await signInWith(page, codes[0], shoot);
    await section.getByText("On. 9 recovery codes are left.").waitFor();
    await shoot("second-factor-on");
});

/** A wrong code is refused at its field, and the present one turns the second factor on. */
async function turnOn(page, section, shoot) {
    page.expectFault(/status 422: POST .*\/second-factor\/confirm/);
    page.expectFault(/console: Failed to load resource.*422/);
    await section.getByLabel("Current password").fill(person.password);
    await section.getByRole("button", { name: "Set up" }).click();
    const secret = await section.locator("pre.secret").innerText();
    await shoot("second-factor-key");
    const right = code(secret);
    await section.getByLabel("Code", { exact: true }).fill(right === "000000" ? "111111" : "000000");
    await section.getByRole("button", { name: "Turn on" }).click();
    await section.getByText("is not the present code").waitFor();
    await section.getByLabel("Code", { exact: true }).fill(code(secret));
    await section.getByRole("button", { name: "Turn on" }).click();
}

/** The dialog closes only once the person says that the codes are stored. Returns the codes. */
async function storeRecoveryCodes(page, shoot) {
    const dialog = page.getByRole("dialog", { name: "Recovery codes" });
    const text = await dialog.getByRole("group", { name: "Copy recovery codes" }).locator("pre").innerText();
    const codes = text.trim().split("\n");
    assert.equal(new Set(codes).size, 10, text);
    for (const one of codes) assert.match(one, /^([a-z2-7]{4}-){3}[a-z2-7]{4}$/);
    await page.getByText("They are not shown again").waitFor();
    await page.waitForFunction(() => document.activeElement?.textContent === "Copy recovery codes");
    await shoot("recovery-codes");
    await page.keyboard.press("Escape");
    assert.ok(await dialog.isVisible(), "the dialog stays");
    await dialog.getByRole("button", { name: "I have saved it" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.reload();
    await heading(page, "Settings");
    assert.equal(await dialog.count(), 0);
    return codes;
}

async function signInWith(page, recoveryCode, shoot) {
    page.expectFault(/status 401: POST .*\/auth\/login/);
    page.expectFault(/console: Failed to load resource.*401/);
    await signIn(page, { ...person, next });
    await page.getByLabel("Code").fill(recoveryCode);
    await shoot("sign-in-code");
    await page.getByRole("button", { name: "Sign in" }).click();
    await heading(page, "Settings");
}

/** The present code of a secret in Base32 (RFC 6238: SHA-1, six digits, 30 seconds). */
function code(secret) {
    const bits = [...secret].map((letter) => LETTERS.indexOf(letter).toString(2).padStart(5, "0")).join("");
    const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
    const step = Buffer.alloc(8);
    step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
    const digest = createHmac("sha1", key).update(step).digest();
    const word = digest.readUInt32BE(digest[19] & 15) & 0x7fffffff;
    return String(word % 1_000_000).padStart(6, "0");
}

// The session's story: it ends elsewhere, and signing in leads back to where one was, and nowhere else.
import { strict as assert } from "node:assert";

import { api, heading, newcomer, signIn, stack, tell } from "../steps.mjs";

const person = await newcomer("traveller");
const newPassword = "newer horse staple";

/** Addresses that lead away in one way or another of reading them. */
const ELSEWHERE = [
    "//evil.example/",
    "/\\evil.example/",
    "/%09/evil.example",
    "%2F%2509%2Fevil.example",
    "/%0a/evil.example",
    "/%0d/evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "\\\\evil.example",
    "/..//evil.example",
    "////evil.example",
    "%20//evil.example",
    "/%5Ct/evil.example",
    "%2F%2Fevil.example",
    "%2F%255Cevil.example",
    "https://evil.example/",
];

await tell("session", async ({ page, shoot }) => {
    await signIn(page, { ...person, next: `/t/${person.tenant}/rules` });
    await heading(page, "Rules");
    await endedElsewhere(page, shoot);
    await wrongPassword(page);
    await backWhereOneWas(page);
    await toADeepLink(page);
    await notElsewhere(page);
});

/** A new password ends all other sessions; this one notices with its next request. */
async function endedElsewhere(page, shoot) {
    const change = { current_password: person.password, new_password: newPassword };
    await api("POST", "/me/password", change, person);
    page.expectFault(/status 401: GET .*\/keys/);
    page.expectFault(/status 401: POST .*\/auth\/refresh/);
    page.expectFault(/console: Failed to load resource.*401/);
    await page.getByRole("link", { name: "Keys" }).click();
    await heading(page, "Sign in");
    await page.getByText("Your session has ended. Sign in to go on where you were.").waitFor();
    await shoot("session-ended");
}

async function wrongPassword(page) {
    page.expectFault(/status 401: POST .*\/auth\/login/);
    await submit(page, person.password);
    await page.getByText("E-mail and password do not match").waitFor();
}

async function backWhereOneWas(page) {
    await submit(page, newPassword);
    await heading(page, "Keys");
    assert.equal(new URL(page.url()).pathname, `/t/${person.tenant}/keys`);
    await page.goBack();
    await heading(page, "Rules");
}

/** A link somebody sent, with what it asks for. */
async function toADeepLink(page) {
    await signOut(page);
    await page.goto(`${stack.baseUrl}/t/${person.tenant}/test?namespace=mail`);
    await heading(page, "Sign in");
    await submit(page, newPassword);
    await heading(page, "Test");
    assert.equal(new URL(page.url()).search, "?namespace=mail", "what the link asked for came along");
}

async function notElsewhere(page) {
    const own = new URL(stack.baseUrl).origin;
    const home = async () => {
        await page.getByRole("navigation", { name: "Pages" }).waitFor();
        await page.waitForURL((url) => url.pathname !== "/sign-in");
        assert.equal(new URL(page.url()).origin, own);
    };
    // As they stand in the address, for somebody who is signed in.
    for (const next of ELSEWHERE) {
        await page.goto(`${stack.baseUrl}/sign-in?next=${next}`);
        await home();
    }
    // And as values, right after signing in.
    for (const next of ["//evil.example/", "/\t/evil.example"]) {
        await signOut(page);
        await signIn(page, { ...person, password: newPassword, next });
        await home();
    }
}

async function submit(page, password) {
    await page.getByLabel("E-mail").fill(person.email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
}

async function signOut(page) {
    await page.getByRole("button", { name: "Sign out" }).click();
    await heading(page, "Sign in");
}

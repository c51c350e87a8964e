// A session that ends elsewhere; signing in returns to the previous page and never to another site.
import { strict as assert } from "node:assert";

import { api, heading, newcomer, signIn, signOut, stack, scenario } from "../steps.mjs";

const person = await newcomer("traveller");
const newPassword = "newer horse staple";

/** URLs that some parser would resolve to another site. */
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

await scenario("session", async ({ page, shoot }) => {
    await signIn(page, { ...person, next: `/t/${person.tenant}/rules` });
    await heading(page, "Rules");
    await endedElsewhere(page, shoot);
    await wrongPassword(page);
    await backToPreviousPage(page);
    await toADeepLink(page);
    await neverToAnotherSite(page);
});

/** A new password ends all other sessions; this one ends with its next request. */
async function endedElsewhere(page, shoot) {
    // The pages ask for news at all times. Only the request of the click below meets the end of the session.
    const news = /\/api\/v1\/tenants\/[^/]+\/(?!keys)/;
    await page.route(news, () => {});
    const change = { current_password: person.password, new_password: newPassword };
    await api("POST", "/me/password", change, person);
    page.expectFault(/status 401: GET .*\/keys/);
    page.expectFault(/status 401: POST .*\/auth\/refresh/);
    page.expectFault(/console: Failed to load resource.*401/);
    await page.getByRole("link", { name: "API keys" }).click();
    await heading(page, "Sign in");
    await page.getByText("Your session expired. Sign in to continue where you left off.").waitFor();
    await page.unroute(news);
    await shoot("session-ended");
}

async function wrongPassword(page) {
    page.expectFault(/status 401: POST .*\/auth\/login/);
    await submit(page, person.password);
    await page.getByText("Wrong e-mail or password").waitFor();
}

async function backToPreviousPage(page) {
    await submit(page, newPassword);
    await heading(page, "API keys");
    assert.equal(new URL(page.url()).pathname, `/t/${person.tenant}/keys`);
    await page.goBack();
    await heading(page, "Rules");
}

/** A deep link with a query. */
async function toADeepLink(page) {
    await signOut(page);
    await page.goto(`${stack.baseUrl}/t/${person.tenant}/test?namespace=mail`);
    await heading(page, "Sign in");
    await submit(page, newPassword);
    await heading(page, "Simulate");
    assert.equal(new URL(page.url()).search, "?namespace=mail", "the query of the link stays");
}

async function neverToAnotherSite(page) {
    const own = new URL(stack.baseUrl).origin;
    const home = async () => {
        await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
        await page.waitForURL((url) => url.pathname !== "/sign-in");
        assert.equal(new URL(page.url()).origin, own);
    };
    // In the URL, for a signed-in person.
    for (const next of ELSEWHERE) {
        await page.goto(`${stack.baseUrl}/sign-in?next=${next}`);
        await home();
    }
    // As values, right after signing in.
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

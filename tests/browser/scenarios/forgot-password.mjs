// A person who forgot the password gets a link by e-mail, sets a new password and signs in with it. Operators issue such links too.
import { strict as assert } from "node:assert";

import { heading, letterTo, loaded, makeOperator, newcomer, scenario, signIn, signOut, stack } from "../steps.mjs";

const person = await newcomer("forgetful");
const operator = await newcomer("helper");
await makeOperator(operator);

await scenario("forgot password", async ({ page, shoot }) => {
    await notOffered(page);
    await page.goto(`${stack.baseUrl}/sign-in`);
    await page.getByRole("link", { name: "Forgot password?" }).click();
    const link = await request(page, shoot);
    await setPassword(page, link, "newer horse staple", shoot);
    await spent(page, link, shoot);
    await signIn(page, { email: person.email, password: "newer horse staple", next: `/t/${person.tenant}/members` });
    await lastSeen(page, shoot);
    await signOut(page);
    await byOperator(page, shoot);
});

/** Without an SMTP server the pages refer to operators. */
async function notOffered(page) {
    const body = JSON.stringify({ signup_open: false });
    const options = /\/auth\/options$/;
    await page.route(options, (route) => route.fulfill({ status: 200, contentType: "application/json", body }));
    await page.goto(`${stack.baseUrl}/sign-in`);
    await page.getByText("Sign-up is by invitation.").waitFor();
    await page.getByText("Ask an operator of this installation for a link").waitFor();
    assert.equal(await page.getByRole("link", { name: "Forgot password?" }).count(), 0);
    await page.goto(`${stack.baseUrl}/forgot`);
    await page.getByText("This installation sends no e-mail.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Send link" }).count(), 0);
    await page.unroute(options);
}

/** The page says the same for every address. Returns the link in the message. */
async function request(page, shoot) {
    await heading(page, "Forgot your password?");
    const send = page.getByRole("button", { name: "Send link" });
    assert.ok(await send.isDisabled());
    await page.getByLabel("E-mail").fill("no address");
    await page.getByText("must be an e-mail address").waitFor();
    await page.getByLabel("E-mail").fill(person.email);
    await shoot("forgot-password");
    await send.click();
    await page.getByText(`Check your inbox: ${person.email}`).waitFor();
    await shoot("forgot-password-sent");
    const { headers, text } = await letterTo(person.email);
    assert.equal(headers.subject, "Set a new password for Weir");
    const link = text.split(/\s+/).find((word) => word.includes("/reset#reset_"));
    assert.ok(link.startsWith(stack.baseUrl), link);
    return link;
}

/** A refused password keeps the link usable. */
async function setPassword(page, link, password, shoot) {
    page.expectFault(/status 422: POST .*\/auth\/password-reset\/confirm/);
    page.expectFault(/console: Failed to load resource.*422/);
    await page.goto(link);
    await heading(page, "Set a new password");
    await page.getByLabel("New password").fill("password");
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("is too common").waitFor();
    await page.getByLabel("New password").fill(password);
    if (shoot) await shoot("reset-password");
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("Password set. All your sessions were signed out.").waitFor();
}

async function spent(page, link, shoot) {
    page.expectFault(/status 404: POST .*\/auth\/password-reset\/confirm/);
    page.expectFault(/console: Failed to load resource.*404/);
    await page.goto(`${stack.baseUrl}/sign-in`);
    await page.goto(link);
    await page.getByLabel("New password").fill("other horse staple");
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("This link has expired or was already used.").waitFor();
    await shoot("reset-password-spent");
    await page.getByRole("link", { name: "Get a new one" }).click();
    await heading(page, "Forgot your password?");
}

async function lastSeen(page, shoot) {
    await heading(page, "Members");
    const row = page.getByRole("region", { name: "Members", exact: true }).getByRole("row", { name: person.email });
    await page.getByRole("columnheader", { name: "Last seen" }).waitFor();
    await page.reload();
    await row.locator("time").nth(1).waitFor();
    await shoot("members-last-seen");
}

/** The list of accounts finds the person, and the link sets a password. */
async function byOperator(page, shoot) {
    await signIn(page, { ...operator, next: "/operator" });
    await heading(page, "Operator");
    await loaded(page);
    const accounts = page.getByRole("region", { name: "Accounts", exact: true });
    await accounts.getByLabel("E-mail or name").fill(operator.email);
    await accounts.getByRole("button", { name: "Search" }).click();
    await accounts.getByRole("row", { name: operator.email }).getByText("Operator").waitFor();
    assert.equal(await accounts.getByRole("button", { name: `Reset link for ${operator.email}` }).count(), 0);
    await accounts.getByLabel("E-mail or name").fill(person.email);
    await accounts.getByRole("button", { name: "Search" }).click();
    await accounts.getByRole("button", { name: `Reset link for ${person.email}` }).click();
    const dialog = page.getByRole("dialog", { name: "Reset link" });
    const link = await dialog.getByRole("group", { name: "Copy link" }).locator("pre").innerText();
    await shoot("operator-reset-link");
    await dialog.getByRole("button", { name: "Done" }).click();
    await signOut(page);
    await setPassword(page, link, "newest horse staple");
}

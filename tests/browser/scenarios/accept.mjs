// An invitation to a person with an account: opened by someone else, accepted once, and useless afterwards.
import { strict as assert } from "node:assert";

import { api, heading, loaded, newcomer, signIn, signOut, stack, scenario } from "../steps.mjs";

const owner = await newcomer("inviter", "Lighthouse");
const guest = await newcomer("invitee", "Harbour");
const invitations = `/tenants/${owner.tenant}/invitations`;

await scenario("accept", async ({ page, shoot }) => {
    const { token } = await api("POST", invitations, { email: guest.email, role: "editor" }, owner);
    const link = `${stack.baseUrl}/accept#${token}`;
    await signIn(page, owner);
    await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
    await openedBySomeoneElse(page, link, shoot);
    await join(page, shoot);
    await usedInvitation(page, link, shoot);
    await leave(page);
    await revoked(page);
});

/** The owner opens the link, then the invited person signs in. */
async function openedBySomeoneElse(page, link, shoot) {
    await page.goto(link);
    await heading(page, "Invitation");
    await page.getByText(`This invitation is for ${guest.email}.`).waitFor();
    await shoot("accept-by-another");
    await page.getByRole("button", { name: "Sign out and continue" }).click();
    await page.getByRole("link", { name: "Sign in to accept" }).click();
    await heading(page, "Sign in");
    await page.getByLabel("E-mail").fill(guest.email);
    await page.getByLabel("Password").fill(guest.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await heading(page, "Invitation");
}

async function join(page, shoot) {
    await page.getByText("to join Lighthouse as an Editor.").waitFor();
    await shoot("accept-with-account");
    await page.getByRole("button", { name: "Accept and join" }).click();
    await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
    await page.getByRole("combobox", { name: "Tenant" }).locator("option:checked", { hasText: "Lighthouse" }).waitFor({ state: "attached" });
    await loaded(page);
}

async function usedInvitation(page, link, shoot) {
    page.expectFault(/status 404: POST .*\/invitations\/preview/);
    page.expectFault(/console: Failed to load resource.*404/);
    await page.goto(link);
    await page.getByText("this invitation has expired, was revoked or was already used").waitFor();
    await page.getByText("Ask the person who invited you for a new link").waitFor();
    await shoot("accept-spent");
}

/** The tenant disappears from the list of the leaving person. */
async function leave(page) {
    await page.goto(`${stack.baseUrl}/t/${owner.tenant}/members`);
    await page.getByRole("button", { name: `Leave ${guest.email}` }).click();
    const dialog = page.getByRole("dialog", { name: "Leave this tenant?" });
    await dialog.getByLabel(`Type ${guest.email} to confirm`).fill(guest.email);
    await dialog.getByRole("button", { name: "Leave" }).click();
    await heading(page, "Tenants");
    await page.getByRole("link", { name: "Harbour" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Lighthouse" }).count(), 0);
    await signOut(page);
}

async function revoked(page) {
    await api("POST", invitations, { email: guest.email, role: "viewer" }, owner);
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/members` });
    await page.getByRole("button", { name: `Revoke the invitation of ${guest.email}` }).click();
    await page.getByRole("region", { name: "Open invitations" }).waitFor({ state: "detached" });
    assert.deepEqual((await api("GET", invitations, undefined, owner)).data, []);
}

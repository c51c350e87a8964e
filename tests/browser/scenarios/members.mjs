// An owner invites a person without an account. The link gives the person the permissions of the role.
import { strict as assert } from "node:assert";

import { api, fresh, heading, newcomer, signIn, signOut, scenario } from "../steps.mjs";

const owner = await newcomer("owner");
const guest = { email: `guest-${fresh}@example.com`, password: "guest horse staple" };

await scenario("members", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/members` });
    await heading(page, "Members");
    const members = page.getByRole("region", { name: "Members", exact: true });
    await members.getByRole("row", { name: owner.email }).getByText("(you)").waitFor();

    await lastOwnerStays(page);
    const former = await invite(page, shoot);
    const link = await newLink(page, former, shoot);
    await signOut(page);
    await join(page, link, shoot);
    await lookAsViewer(page, shoot);
    await signOut(page);
    await promoteAndRemove(page, shoot);
});

/** The server rejects the change, the page shows the reason, and the select returns to the stored role. */
async function lastOwnerStays(page) {
    const status = page.waitForResponse((answer) => answer.request().method() === "PATCH");
    page.expectFault(/status 409: PATCH .*members/);
    page.expectFault(/console: Failed to load resource.*409/);
    await page.getByLabel(`Role of ${owner.email}`).selectOption("Viewer");
    await page.getByRole("dialog", { name: "Change the role?" }).getByRole("button", { name: "Make a Viewer" }).click();
    await status;
    await page.getByText("this is the only owner: make someone else an owner first").waitFor();
    await page.waitForFunction(
        (label) => document.querySelector(`[aria-label="${label}"]`)?.value === "Owner",
        `Role of ${owner.email}`,
    );
}

async function invite(page, shoot) {
    await page.getByRole("button", { name: "Invite a member" }).click();
    await page.getByLabel("E-mail").fill(guest.email);
    await page.getByLabel("Role", { exact: true }).selectOption({ label: "Viewer: read-only" });
    await page.getByRole("button", { name: "Invite", exact: true }).click();
    await page.getByText("The link is shown only once.").waitFor();
    await shoot("members");
    const open = page.locator("[aria-label='Open invitations']");
    await open.getByText(guest.email, { exact: true }).waitFor();
    const link = await page.getByRole("group", { name: "Copy link" }).locator("pre").innerText();
    assert.match(link, /\/accept#invite_/);
    await page.getByRole("button", { name: "Done" }).click();
    return link;
}

/** A lost link is replaced: the former one stops working. */
async function newLink(page, former, shoot) {
    await page.getByRole("button", { name: `New link for ${guest.email}` }).click();
    const question = page.getByRole("dialog", { name: "Make a new link?" });
    await question.getByRole("button", { name: "Make a new link" }).click();
    const drawer = page.getByRole("dialog", { name: "New link", exact: true });
    const link = await drawer.getByRole("group", { name: "Copy link" }).locator("pre").innerText();
    await shoot("members-new-link");
    await drawer.getByRole("button", { name: "Done" }).click();
    assert.notEqual(link, former);
    const { data } = await api("GET", `/tenants/${owner.tenant}/invitations`, undefined, owner);
    assert.deepEqual(data.map(({ email, role }) => [email, role]), [[guest.email, "viewer"]]);
    return link;
}

async function join(page, link, shoot) {
    await page.goto(link);
    await heading(page, "Invitation");
    await page.getByText(`asks ${guest.email} to join`).waitFor();
    await page.getByLabel("Password").fill(guest.password);
    await shoot("accept");
    await page.getByRole("button", { name: "Create account and join" }).click();
    await page.getByRole("button", { name: "(account)" }).waitFor();
}

/** A viewer sees the members but cannot change them. */
async function lookAsViewer(page, shoot) {
    await page.getByRole("link", { name: "Members" }).click();
    await heading(page, "Members");
    await page.getByText("You need the Admin role to do this. You are a Viewer.").waitFor();
    assert.ok(await page.getByRole("button", { name: "Invite a member" }).isDisabled());
    assert.ok(await page.getByLabel(`Role of ${owner.email}`).isDisabled());
    assert.ok(await page.getByRole("button", { name: `Leave ${guest.email}` }).isEnabled());
    await shoot("members-as-viewer");
}

async function promoteAndRemove(page, shoot) {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/members` });
    await heading(page, "Members");
    const role = page.getByLabel(`Role of ${guest.email}`);
    const dialog = page.getByRole("dialog", { name: "Change the role?" });
    await role.focus();
    await page.keyboard.press("ArrowDown");
    await dialog.getByText(`${guest.email} becomes an Editor`).waitFor();
    await shoot("change-role");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "hidden" });
    assert.equal(await role.inputValue(), "Viewer", "an arrow key changes nothing");
    const saved = page.waitForResponse((answer) => answer.request().method() === "PATCH" && answer.ok());
    await role.selectOption("Editor");
    await dialog.getByRole("button", { name: "Make an Editor" }).click();
    await saved;
    const { data } = await api("GET", `/tenants/${owner.tenant}/members`, undefined, owner);
    assert.equal(data.find(({ email }) => email === guest.email).role, "editor");
    await page.getByRole("button", { name: `Remove ${guest.email}` }).click();
    const removal = page.getByRole("dialog", { name: "Remove this member?" });
    await removal.getByLabel(`Type ${guest.email} to confirm`).fill(guest.email);
    await shoot("remove-member");
    await removal.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: `Remove ${guest.email}` }).waitFor({ state: "detached" });
}

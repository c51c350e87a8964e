// The viewer's story: sees every page, may change nothing, and each control that is off says why.
import { strict as assert } from "node:assert";

import { api, colleague, loaded, newcomer, signIn, tell, walk } from "../steps.mjs";

const owner = await newcomer("host");
const viewer = await colleague(owner, "watcher", "viewer");
const home = `/tenants/${owner.tenant}`;

/** What changes something for others, or needs more than reading; filters, views and what is typed do not. */
const CHANGES = /^(Create|New|Edit|Change (?!the password)|Delete|Remove (?!the )|Revoke|Rotate|Invite|Rename|Reset|Revert|Import|Record|Stop|Run the test)/;

await tell("viewer", async ({ page, shoot }) => {
    const limits = [{ algorithm: "sliding_window_log", limit: 5, window_ms: 60_000 }];
    const rule = await api("POST", `${home}/rules`, { name: "login", count_by: ["user"], limits }, owner);
    await api("POST", `${home}/keys`, { name: "checkout", scopes: ["check"] }, owner);
    await signIn(page, { ...viewer, next: `/t/${owner.tenant}/rules` });

    let told = 0;
    await walk(page, async (name) => {
        told += await reasons(page, name);
        if (name === "Overrides") assert.ok(await page.getByRole("button", { name: "Export CSV" }).isEnabled());
        await shoot(`viewer-${name.toLowerCase().replaceAll(" ", "-")}`);
    });
    for (const path of [`rules/${rule.id}`, `rules/${rule.id}/edit`, "rules/new"]) {
        await page.goto(new URL(`/t/${owner.tenant}/${path}`, page.url()).href);
        await page.getByText("you are a viewer").first().waitFor();
        await loaded(page);
        told += await reasons(page, path);
    }
    await shoot("viewer-new-rule");
    assert.ok(told >= 5, `reasons are given on ${told} pages`);
});

/** Whether the page says why something is off; everything that changes anything must be. */
async function reasons(page, name) {
    const main = page.getByRole("main");
    const controls = main.getByRole("button", { disabled: false }).or(main.getByRole("link"));
    for (const control of await controls.all()) {
        const label = (await control.getAttribute("aria-label")) ?? (await control.textContent());
        assert.doesNotMatch(label, CHANGES, `${name}: a viewer may press "${label}"`);
    }
    return (await main.getByText("you are a viewer").count()) > 0 ? 1 : 0;
}

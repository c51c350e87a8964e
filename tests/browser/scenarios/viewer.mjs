// A viewer sees every page, cannot change anything, and sees the reason at each disabled control.
import { strict as assert } from "node:assert";

import { api, colleague, loaded, newcomer, signIn, scenario, walk } from "../steps.mjs";

const owner = await newcomer("host");
const viewer = await colleague(owner, "watcher", "viewer");
const home = `/tenants/${owner.tenant}`;

/** Controls that change something or need more than read access, unlike filters, views and local input. */
const CHANGES = /^(Retry|Create(?!d)|New|Edit|Change (?!password)|Delete|Remove (?!condition|limit|attribute)|Revoke|Rotate|Invite|Save .|Reset|Revert|Import|Record|Stop|Run test)/;

await scenario("viewer", async ({ page, shoot }) => {
    const limits = [{ algorithm: "sliding_window_log", limit: 5, window_ms: 60_000 }];
    const rule = await api("POST", `${home}/rules`, { name: "login", count_by: ["user"], limits }, owner);
    await api("POST", `${home}/keys`, { name: "checkout", scopes: ["check"] }, owner);
    await signIn(page, { ...viewer, next: `/t/${owner.tenant}/rules` });

    let explained = 0;
    await walk(page, async (name) => {
        if (name === "Overview") await page.getByRole("region", { name: "First steps" }).getByText("Create an alert").waitFor();
        explained += await reasons(page, name);
        if (name === "Overrides") assert.ok(await page.getByRole("button", { name: "Export CSV" }).isEnabled());
        // Even that of the viewer's own name, as long as the name is unchanged.
        const saves = page.getByRole("button", { name: "Save", exact: true, disabled: false });
        assert.equal(await saves.count(), 0, name);
        await shoot(`viewer-${name.toLowerCase().replaceAll(" ", "-")}`);
    });
    for (const path of [`rules/${rule.id}`, `rules/${rule.id}/edit`, "rules/new"]) {
        await page.goto(new URL(`/t/${owner.tenant}/${path}`, page.url()).href);
        await page.getByText("You are a Viewer").first().waitFor();
        await loaded(page);
        explained += await reasons(page, path);
        if (path === `rules/${rule.id}`) await aligned(page);
    }
    await shoot("viewer-new-rule");
    assert.ok(explained >= 5, `reasons are given on ${explained} pages`);
});

/** Asserts that all controls that change something are disabled. Returns 1 if the page gives the reason. */
async function reasons(page, name) {
    const main = page.getByRole("main");
    const controls = main.getByRole("button", { disabled: false }).or(main.getByRole("link"));
    for (const control of await controls.all()) {
        const label = (await control.getAttribute("aria-label")) ?? (await control.textContent());
        assert.doesNotMatch(label, CHANGES, `${name}: a viewer can press "${label}"`);
    }
    return (await main.getByText("You are a Viewer").count()) > 0 ? 1 : 0;
}

/** The buttons of a rule are as wide as their text, and on one line, although they cannot be pressed. */
async function aligned(page) {
    const boxes = [];
    for (const name of ["Edit rule", "More actions"]) boxes.push(await page.getByRole("button", { name }).first().boundingBox());
    for (const { width } of boxes) assert.ok(width < 160, `a button is ${width} pixels wide`);
    assert.equal(new Set(boxes.map(({ y, height }) => Math.round(y + height / 2))).size, 1, "the buttons are on one line");
}

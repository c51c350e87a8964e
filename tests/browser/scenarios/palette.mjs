// The command palette finds pages, rules, keys, subjects, alerts, webhooks and members, with the keyboard only.
import { strict as assert } from "node:assert";

import { api, fresh, heading, signIn, stack, scenario } from "../steps.mjs";

const rule = `found-${fresh}`;

await scenario("palette", async ({ page, shoot }) => {
    const { id } = await api("POST", `/tenants/${stack.tenant}/rules`, {
        namespace: "palette",
        name: rule,
        count_by: ["user"],
        limits: [{ algorithm: "fixed_window", limit: 5, window_ms: 60000 }],
    });
    await api("POST", `/tenants/${stack.tenant}/keys`, { name: `key ${fresh}`, scopes: ["read"] });
    const override = { rule_id: id, subject: { user: `vip-${fresh}` }, action: "allow" };
    await api("POST", `/tenants/${stack.tenant}/overrides`, override);
    await signIn(page);
    await heading(page, "Overview");
    const field = page.getByRole("combobox", { name: "Search customers, users, rules, alerts, members and pages" });
    const chosen = page.getByRole("listbox").getByRole("option", { selected: true });

    await page.keyboard.press("Control+k");
    await chosen.getByText("Overview").waitFor();
    await page.getByRole("option", { name: / Rule$/ }).first().waitFor();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await chosen.getByText("Live").waitFor();
    await shoot("palette");
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });

    await lead(page, rule, rule);
    await lead(page, `key ${fresh}`, "API keys");
    await lead(page, "create", "New rule");
    await lead(page, "change pass", "Settings");
    // D-33: one name for each page, which is found by the others too.
    await lead(page, "what-if", "Replay");
    await lead(page, "dry run", "Simulate");
    await lead(page, "near a limit", "Subjects");
    await page.getByRole("tab", { name: "Near limit", selected: true }).waitFor();
    await lead(page, `user=U-${fresh}`, `user U-${fresh}`);

    await page.keyboard.press("Control+k");
    await field.fill(`user=vip-${fresh}`);
    await page.getByRole("option", { name: `user vip-${fresh} ${rule} Override` }).click();
    await heading(page, "Overrides");
    await page.getByRole("row", { name: `user vip-${fresh}` }).waitFor();
    assert.equal(await page.getByRole("region", { name: "Overrides" }).getByRole("row").count(), 2);
    await amongMany(page, field);
    await bareWords(page, field);

    const button = page.getByRole("button", { name: "Search or jump to…" });
    await button.focus();
    await page.keyboard.press("Enter");
    // A longer text can be opened as a subject.
    await field.fill("§");
    await page.getByText("No results").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    assert.ok(await button.evaluate((node) => node === document.activeElement), "focus returns to the button");
});

/** A word finds what has it in a name or in a value. A subject that nothing counted yet can be opened too. */
async function bareWords(page, field) {
    const { webhook } = await api("POST", `/tenants/${stack.tenant}/webhooks`, { name: `Pager ${fresh}`, url: "http://127.0.0.1:9/" });
    const alert = { name: `Token volume ${fresh}`, webhook_id: webhook.id, kind: "denial_share", share_percent: 5 };
    await api("POST", `/tenants/${stack.tenant}/alerts`, alert);
    await lead(page, `token vol`, "Alerts");
    await lead(page, `pager ${fresh}`, "Alerts");
    await lead(page, stack.email, "Members");
    const [entry] = (await api("GET", `/tenants/${stack.tenant}/audit?limit=1`)).data;
    await lead(page, entry.id, "Audit log");
    await page.getByRole("row").nth(1).waitFor();

    await page.keyboard.press("Control+k");
    await field.fill(`umbrella ${fresh}`);
    await page.getByRole("option", { name: `Open as user umbrella ${fresh}` }).waitFor();
    assert.equal(await page.getByText("No results").count(), 0);
    await page.getByRole("option", { name: `Open as user umbrella ${fresh}` }).click();
    await heading(page, `user umbrella ${fresh}`);

    await page.keyboard.press("Control+k");
    await page.keyboard.type("dark theme");
    await page.getByRole("option", { name: "Dark theme Theme" }).waitFor();
    await page.keyboard.press("Enter");
    await field.waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
}

/** If a tenant has more than one page of rules, the palette searches on the server. */
async function amongMany(page, field) {
    const first = /\/rules\?limit=200&search=$/;
    await page.route(first, async (route) => {
        const answer = await (await route.fetch()).json();
        await route.fulfill({ json: { data: answer.data.slice(0, 1), next_cursor: "more" } });
    });
    await page.keyboard.press("Control+k");
    await field.fill(`palette ${rule}`);
    await page.getByRole("option", { name: `${rule} palette Rule` }).click();
    await heading(page, rule);
    await page.unroute(first);
}

/** Opens the palette, types the words, presses Enter once there is a result, and waits for the page with the title. */
async function lead(page, words, title) {
    await page.keyboard.press("Control+k");
    await page.keyboard.type(words);
    await page.getByRole("listbox").getByRole("option", { selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await heading(page, title);
}

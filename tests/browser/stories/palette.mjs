// Ctrl-K: a few letters lead to pages, rules, keys and people who are counted, by keyboard alone.
import { strict as assert } from "node:assert";

import { api, fresh, heading, signIn, stack, tell } from "../steps.mjs";

const rule = `found-${fresh}`;

await tell("palette", async ({ page, shoot }) => {
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
    await heading(page, "Rules");
    const field = page.getByRole("combobox", { name: "Page, rule, key, or attribute=value" });
    const chosen = page.getByRole("listbox").getByRole("option", { selected: true });

    await page.keyboard.press("Control+k");
    await chosen.getByText("Get started").waitFor();
    await page.getByRole("listbox").getByRole("option").getByText("api-per-user").waitFor();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await chosen.getByText("Overview").waitFor();
    await shoot("palette");
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });

    await lead(page, rule, rule);
    await lead(page, `key ${fresh}`, "Keys");
    await lead(page, "create", "New rule");
    await lead(page, `user=u-${fresh}`, "Test");
    assert.equal(await page.getByLabel("Value").inputValue(), `u-${fresh}`);

    await page.keyboard.press("Control+k");
    await field.fill(`user=vip-${fresh}`);
    await page.getByRole("option", { name: `user vip-${fresh} always passes Override` }).click();
    await heading(page, "Overrides");
    await page.getByRole("row", { name: `user vip-${fresh}` }).waitFor();
    assert.equal(await page.getByRole("region", { name: "Overrides" }).getByRole("row").count(), 2);
    await amongMany(page, field);

    const button = page.getByRole("button", { name: "Go to…" });
    await button.focus();
    await page.keyboard.press("Enter");
    await field.fill("no such thing at all");
    await page.getByText("Nothing has these words.").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    assert.ok(await button.evaluate((it) => it === document.activeElement), "the keyboard is back where it was");
});

/** Where a tenant has more rules than one page, the server is asked for those that are typed. */
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

/** Ctrl-K, the words, Enter once something has them: and the page of this title is there. */
async function lead(page, words, title) {
    await page.keyboard.press("Control+k");
    await page.keyboard.type(words);
    await page.getByRole("listbox").getByRole("option", { selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await heading(page, title);
}

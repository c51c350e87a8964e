// A profile from a template in a drawer: its faults, the attributes that the tester shows, and a gate that answers a proxy by it; a change, a
// deletion, and the page of a viewer.
import { strict as assert } from "node:assert";

import { api, colleague, eventually, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("proxies");
const home = `/t/${owner.tenant}`;

await scenario("proxies", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `${home}/proxies` });
    await heading(page, "Proxies");
    await page.getByText("No profiles yet").waitFor();
    await shoot("proxies-nothing");

    await page.getByRole("button", { name: "New profile" }).click();
    await page.getByLabel("Proxy", { exact: true }).selectOption({ label: "nginx: X-Original-*" });
    const text = page.getByLabel("Profile", { exact: true });
    const template = await text.inputValue();
    assert.equal(JSON.parse(template).deny_status, 403);
    const create = page.getByRole("button", { name: "Create profile" });
    await text.fill(template.replace("403", "500"));
    await page.getByText("Deny_status must be 429 or 403").waitFor();
    assert.ok(await create.isDisabled());

    const profile = JSON.parse(template);
    profile.attributes.user = { from: "header", name: "X-User", default: "nobody" };
    await text.fill(JSON.stringify(profile, null, 2));
    const shown = page.getByRole("region", { name: "Attributes of the check" });
    await value(shown, "route", "/v1/me");
    await value(shown, "user", "nobody");
    await page.getByLabel("Path and query").fill("/a%20b?token=x");
    await page.getByLabel("Headers that the proxy passes on").fill("X-User: ada");
    await value(shown, "route", "/a b");
    await value(shown, "user", "ada");
    await shoot("proxies-tester");

    await create.click();
    const row = page.getByRole("row", { name: /^nginx / });
    await row.getByText("host, ip, method, route, user").waitFor();
    const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);
    for (const gate of stack.gates) await eventually("the gate answers by the profile", async () => (await ask(gate, secret)) === 204);

    await row.getByRole("button", { name: "Edit nginx" }).click();
    await page.getByRole("dialog", { name: "Change nginx" }).waitFor();
    profile.name = "front";
    await text.fill(JSON.stringify(profile));
    await page.getByRole("button", { name: "Save profile" }).click();
    await page.getByRole("row", { name: /^front / }).waitFor();
    await shoot("proxies-table");

    await page.getByRole("button", { name: "Revisions of front" }).click();
    const history = page.getByRole("dialog", { name: "Revisions of front" });
    await history.getByText("Revision 2", { exact: true }).click();
    await history.getByRole("region", { name: "Changes in revision 2" }).getByText("front", { exact: true }).waitFor();
    await history.getByText("Revision 1", { exact: true }).click();
    await shoot("proxies-revisions");
    await history.getByRole("button", { name: "Revert to revision 1" }).click();
    const confirm = page.getByRole("dialog", { name: "Revert to revision 1?" });
    await confirm.getByRole("region", { name: "Changes of the revert" }).getByText("nginx", { exact: true }).waitFor();
    await confirm.getByRole("button", { name: "Revert", exact: true }).click();
    await page.getByRole("row", { name: /^nginx / }).waitFor();
    await page.getByRole("button", { name: "Revisions of nginx" }).click();
    await page.getByRole("dialog", { name: "Revisions of nginx" }).getByText("Revision 2", { exact: true }).click();
    await page.getByRole("button", { name: "Revert to revision 2" }).click();
    await page.getByRole("dialog", { name: "Revert to revision 2?" }).getByRole("button", { name: "Revert", exact: true }).click();
    await page.getByRole("row", { name: /^front / }).waitFor();

    const viewer = await colleague(owner, "proxies-viewer", "viewer");
    await scenario("proxies of a viewer", async ({ page }) => {
        await signIn(page, { ...viewer, next: `${home}/proxies` });
        await heading(page, "Proxies");
        await page.getByRole("row", { name: /^front / }).waitFor();
        assert.ok(await page.getByRole("button", { name: "Edit front" }).isDisabled());
        assert.ok(await page.getByRole("button", { name: "New profile" }).isDisabled());
    });

    await page.getByRole("button", { name: "Delete front" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("front");
    await page.getByRole("button", { name: "Delete profile" }).click();
    await page.getByText("No profiles yet").waitFor();
});

async function value(table, name, expected) {
    await table.getByRole("row", { name: new RegExp(`^${name}`) }).getByText(expected, { exact: true }).waitFor();
}

/** The status of a proxy's question. */
async function ask(gate, secret) {
    const headers = {
        "x-weir-key": secret,
        "x-original-method": "GET",
        "x-original-uri": "/",
        "x-original-host": "shop.example",
        "x-forwarded-for": "192.0.2.7",
    };
    return (await fetch(`${gate}/authorize/nginx`, { headers })).status;
}

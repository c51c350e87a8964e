// A tenant with many rules: scrolling, filtering, sorting, and changing the mode of several rules.
import { strict as assert } from "node:assert";

import { api, heading, newcomer, signIn, scenario } from "../steps.mjs";

const COUNT = 120;
const owner = await newcomer("ruler");
await makeRules();

await scenario("rules", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/rules` });
    await heading(page, "Rules");
    await page.getByText("120 rules", { exact: true }).waitFor();
    await follows(page);
    await scrolls(page);
    await findsAndSorts(page, shoot);
    await changesModes(page, shoot);
});

async function makeRules() {
    for (let at = 0; at < COUNT; at += 1) await api("POST", `/tenants/${owner.tenant}/rules`, body(at), owner);
}

function body(at) {
    const long = at === 7 ? "-".padEnd(56, "x") : "";
    return {
        namespace: `space-${at % 4}`,
        name: `rule-${String(at).padStart(4, "0")}${long}`.slice(0, 63),
        match: [{ attribute: "route", op: "prefix", value: at === 7 ? "/ردود/".repeat(30) : `/v${at}` }],
        count_by: ["user"],
        limits: [
            { algorithm: "fixed_window", limit: at + 1, window_ms: 60000 },
            { algorithm: "spacing", interval_ms: 10 },
        ],
    };
}

/** The figures of the last hour follow while the page is open. */
async function follows(page) {
    const asked = /\/stats\/rules$/;
    const { id: rule_id } = await ruleNamed("rule-0003");
    const counts = { denied: [0], shadow_denied: [0] };
    await page.route(asked, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), data: [{ rule_id, allowed: [4321], ...counts }] } });
    });
    const row = page.getByRole("region", { name: "Rules" }).getByRole("row", { name: /rule-0003/ });
    await page.getByLabel("Filter").fill("rule-0003");
    await row.getByText("4,321").waitFor({ timeout: 30_000 });
    await page.unroute(asked);
    await page.getByLabel("Filter").fill("");
    await page.getByText("120 rules", { exact: true }).waitFor();
}

/** Scrolls to the last row and back with few rendered rows, and measures the frames. */
async function scrolls(page) {
    const table = page.getByRole("region", { name: "Rules" });
    const rows = await table.getByRole("row").count();
    assert.ok(rows < 100, `${rows} rows exist at once`);
    const frames = await table.evaluate(async (frame) => {
        const lengths = [];
        let before = performance.now();
        const height = frame.scrollHeight;
        for (let step = 1; step <= 120; step += 1) {
            frame.scrollTop = (height * step) / 120;
            await new Promise((resolve) => requestAnimationFrame(resolve));
            lengths.push(performance.now() - before);
            before = performance.now();
        }
        return lengths.sort((a, b) => a - b);
    });
    const at = (share) => frames[Math.floor(frames.length * share)].toFixed(0);
    console.log(`rules: ${COUNT} rows scrolled through in 120 frames: median ${at(0.5)} ms, p95 ${at(0.95)} ms`);
    await table.getByRole("link", { name: "rule-0119" }).waitFor();
    assert.equal(await table.getByRole("table").getAttribute("aria-rowcount"), String(COUNT + 1));
    await table.focus();
    await page.keyboard.press("Home");
    await table.getByRole("link", { name: "rule-0000" }).waitFor();
}

async function findsAndSorts(page, shoot) {
    await shoot("rules-many");
    await page.getByLabel("Filter").fill("zzz");
    await page.getByText("No rules match").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("120 rules", { exact: true }).waitFor();
    await page.getByLabel("Filter").fill("space-3 rule-000");
    await page.getByText("2 of 120 rules").waitFor();
    assert.equal(new URL(page.url()).search, "?q=space-3%20rule-000");
    await page.getByRole("button", { name: "Rule", exact: true }).click();
    const head = page.getByRole("columnheader", { name: "Rule", exact: true });
    assert.equal(await head.getAttribute("aria-sort"), "descending");
    const links = page.getByRole("region", { name: "Rules" }).getByRole("link");
    await links.first().filter({ hasText: "rule-0007" }).waitFor();
    const names = await links.allTextContents();
    assert.deepEqual(names.map((name) => name.slice(0, 9)), ["rule-0007", "rule-0003"]);
    await page.reload();
    await page.getByText("2 of 120 rules").waitFor();
    assert.equal(await head.getAttribute("aria-sort"), "descending", "the URL keeps filter and order");
}

/** A rule that was changed by another person meanwhile stays selected, with the reason. */
async function changesModes(page, shoot) {
    page.expectFault(/status 412: PUT/);
    page.expectFault(/console: Failed to load resource.*412/);
    const stale = await ruleNamed("rule-0003");
    await api("PUT", `/tenants/${owner.tenant}/rules/${stale.id}`, body(3), { ...owner, ifMatch: stale.revision });
    await page.getByLabel("Select all rules shown").check();
    const bar = page.getByRole("group", { name: "Selected rules" });
    await bar.getByText("2 rules selected").waitFor();
    await bar.getByRole("button", { name: "Mode of the selected rules" }).click();
    await page.getByRole("menuitem", { name: "Set to Shadow" }).click();
    const dialog = page.getByRole("dialog", { name: "Change the mode?" });
    await dialog.getByText("rule-0003", { exact: true }).waitFor();
    await dialog.getByText("In the last hour: 0 checks, 0 denied.").waitFor();
    assert.equal((await ruleNamed("rule-0007")).mode, "enforce", "nothing changes before the confirmation");
    await shoot("rules-modes-confirm");
    await dialog.getByRole("button", { name: "Set to Shadow" }).click();
    await page.getByText("1 of 2 rules changed.").waitFor();
    await page.getByRole("alert").getByText("rule-0003: Someone else changed this while you were editing").waitFor();
    await shoot("rules-modes");
    assert.ok(await page.getByLabel("Select rule-0003").isChecked());
    assert.equal((await ruleNamed("rule-0007")).mode, "shadow");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("1 rule set to Enforced").waitFor();
    await page.getByText(/rules? changed\.$/).waitFor({ state: "detached" });
    assert.equal((await ruleNamed("rule-0007")).mode, "enforce", "the previous mode");
}

async function ruleNamed(prefix) {
    const { data } = await api("GET", `/tenants/${owner.tenant}/rules?namespace=space-3&limit=2`, undefined, owner);
    return data.find(({ name }) => name.startsWith(prefix));
}

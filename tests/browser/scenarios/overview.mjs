// Checks sent to both gates appear in real time; a range is zoomed into and read by keyboard.
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";

import { api, check, fresh, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("watcher");
const name = `login-${fresh}`;
await api("POST", `/tenants/${owner.tenant}/rules`, {
    name,
    count_by: ["user"],
    limits: [{ algorithm: "sliding_window_log", limit: 3, window_ms: 3_600_000 }],
}, owner);
const watched = `watched-${fresh}`;
await api("POST", `/tenants/${owner.tenant}/rules`, {
    name: watched,
    mode: "shadow",
    count_by: ["user"],
    limits: [{ algorithm: "sliding_window_log", limit: 3, window_ms: 3_600_000 }],
}, owner);
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);

// Counted once a second, fetched every five.
const SLOWLY = { timeout: 30_000 };

await scenario("overview", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/overview` });
    await heading(page, "Overview");
    await page.getByText("No denials in the log").waitFor();
    await firstSteps(page, ["Send the first check", "Create an alert"]);
    await shoot("overview-empty");
    await send();
    const tile = (name) => page.locator("dl").getByText(name, { exact: true }).locator("..");
    await tile("Denied").getByText("4", { exact: true }).waitFor(SLOWLY);
    await tile("Allowed").getByText("6", { exact: true }).waitFor(SLOWLY);
    await page.getByRole("region", { name: "Most denied subjects" }).last().getByText("user u-1").first().waitFor(SLOWLY);
    await page.getByText(/, counted in steps of 10 minutes\.$/).first().waitFor();
    await tile("Check latency, p99").getByText(/^at the gates; median [\d.]+ (µs|ms)$/).waitFor(SLOWLY);
    const top = page.getByRole("region", { name: "Top rules by denials" }).last();
    await top.getByRole("link", { name }).waitFor(SLOWLY);
    await firstSteps(page, ["Create an alert"]);
    await counts(top, name, ["4", "0"]);
    await counts(top, watched, ["0", "4"]);
    const changed = page.getByRole("region", { name: "What changed" }).getByRole("listitem");
    await changed.filter({ hasText: watched }).getByText("would deny 0 → 4").waitFor(SLOWLY);
    await changed.filter({ hasText: name }).getByText(/^0 → 4$/).waitFor();
    await page.getByText(/^From the newest \d+ log entries: .*\d\d:\d\d:\d\d\.$/).waitFor();
    await page.getByText(/^Current rules: live on 2 of 2 gates/).waitFor(SLOWLY);
    await shoot("overview");
    await page.reload();
    await firstSteps(page, ["Create an alert"]);
    await hideFirstSteps(page);
    await savesLists(page);
    await inTheList(page, shoot);
    await readByKeyboard(page);
    await legend(page);
    await zoomIn(page, shoot);
    await uncertain(page);
    await counting(page);
    await withoutRedis(page, shoot);
    await manyEvents(page, shoot);
    await ages(page, shoot);
});

/** The steps that are left lead to their pages. */
async function firstSteps(page, expected) {
    const steps = page.getByRole("region", { name: "First steps" });
    await steps.getByText("Enforce a rule").waitFor();
    assert.deepEqual(await steps.getByRole("link").allTextContents(), expected);
    assert.equal(await steps.getByRole("listitem").filter({ hasText: "Done:" }).count(), 4 - expected.length);
}

/** Hidden steps stay hidden. */
async function hideFirstSteps(page) {
    const steps = page.getByRole("region", { name: "First steps" });
    await steps.getByRole("button", { name: "Hide the first steps" }).click();
    await steps.waitFor({ state: "detached" });
    await page.reload();
    await page.getByText(/^Current rules: live on 2 of 2 gates/).waitFor(SLOWLY);
    assert.equal(await steps.count(), 0);
}

/** The lists are saved as CSV, the log of denials with all of its entries. */
async function savesLists(page) {
    const buttons = page.getByRole("button", { name: "Export CSV" });
    const saved = async (button) => {
        const download = page.waitForEvent("download");
        await button.click();
        return (await readFile(await (await download).path(), "utf8")).trimEnd().split("\r\n");
    };
    const rules = await saved(buttons.first());
    assert.match(rules[0], /^Namespace,Rule,Subject,Checks,Denied,Would deny,/);
    assert.ok(rules.some((line) => line.startsWith(`default,${name},`)), rules.join());
    const denials = await saved(buttons.last());
    assert.match(denials[0], /^Time,Namespace,Rule,Subject,Cost,/);
    assert.ok(denials.filter((line) => line.includes(`,${name},user u-1,`)).length > 0, denials.join());
}

/** What a rule denied, and what it would have denied. */
async function counts(top, rule, expected) {
    const cells = await top.getByRole("row").filter({ hasText: rule }).getByRole("cell").allTextContents();
    assert.deepEqual(cells.slice(1, 3), expected, rule);
}

/** An outage and a changed rule are listed before any number of alerts, and each kind of events has a lane over the chart. */
async function manyEvents(page, shoot) {
    const asked = /stats\/events\?/;
    const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
    const alert = (_, at) => ({
        kind: "alert", at: ago(900 + at), until: ago(60 + at), alert: `Token volume ${at}`, firings: 7, summary: "7 subjects, last customer globex at 100%",
    });
    const outage = (begin) => ({
        kind: "redis_outage", at: ago(begin), until: ago(begin - 20), step_ms: 10_000, checks: 1204,
        summary: "20 s, 1,204 of 2,408 checks answered without it",
    });
    const slow = { kind: "redis_slow", at: ago(2_400), until: ago(2_390), step_ms: 10_000, checks: 24, summary: "24 of 900 checks were over the time for its calls" };
    const change = {
        kind: "rule_change", at: ago(1_900), action: "rule.update", actor: "ada@example.com", rule_id: "rule_1", rule: "api-per-customer", summary: "burst 40 → 15",
    };
    const data = [...Array.from({ length: 150 }, alert), outage(1_700), change, outage(1_770), slow];
    await page.route(asked, (route) => route.fulfill({ json: { data, truncated: true } }));
    await page.getByRole("button", { name: "1 h" }).click();
    const changed = page.getByRole("region", { name: "What changed" });
    await changed.getByText("Redis unavailable: 20 s, 1,204 of 2,408 checks answered without it").first().waitFor(SLOWLY);
    const items = await changed.getByRole("listitem").allTextContents();
    const events = items.filter((text) => /Redis|rule|Alert/.test(text)).slice(-6);
    assert.match(events[0], /^Redis unavailable: 20 s/);
    assert.match(events[1], /^Changed rule api-per-customer: burst 40 → 15, by ada@example\.com/);
    assert.match(events[2], /^Redis unavailable: 20 s/);
    assert.match(events[2], /\d\d:\d\d:\d\d–\d\d:\d\d:\d\d/, "its begin and its end");
    assert.match(events[3], /^Alert Token volume 0: 7 subjects, last customer globex at 100%/);
    await changed.getByText("148+ more in the chart's table and in the audit log").waitFor();
    await page.getByRole("region", { name: "State" }).getByText("And 146 more.").waitFor();
    // All at one moment: the page can still move.
    const flags = await page.locator(".chart-flags").getByRole("button").evaluateAll((buttons) =>
        buttons.map((button) => ({ label: button.getAttribute("aria-label"), top: button.getBoundingClientRect().top })),
    );
    const top = (text) => flags.find(({ label }) => label.includes(text)).top;
    const lanes = [top("Changed rule api"), top("Alert Token volume"), top("Redis unavailable")];
    assert.ok(lanes[0] > lanes[1] && lanes[1] > lanes[2], `${lanes}`);
    assert.equal(await page.locator(".chart-overlay .outage").count(), 2, "the slow time is no outage");
    await shoot("overview-events");
    await page.unroute(asked);
}

/** Without a connection the page shows the age of its data, and nothing of the present. */
async function ages(page, shoot) {
    page.expectFault(/request failed: GET/);
    page.expectFault(/console: Failed to load resource: net::ERR_INTERNET_DISCONNECTED/);
    await page.getByRole("button", { name: "1 h" }).click();
    await page.getByText(/^Updated (just now|\d s ago)\.$/).waitFor();
    await page.context().setOffline(true);
    await page.getByText(/^Updated ([6-9]|1\d) s ago\.$/).waitFor({ timeout: 30_000 });
    await page.getByRole("region", { name: "State" }).getByText(/^.?40% of checks are denied/).waitFor();
    await page.getByRole("link", { name: "Gates: unknown" }).waitFor(SLOWLY);
    const now = page.locator("dl").getByText(/^Checks per second, (now|all)/).locator("..");
    await now.getByText("–", { exact: true }).waitFor(SLOWLY);
    const [banner, picker] = [page.getByRole("alert").first(), page.getByRole("button", { name: "24 h" })];
    const [over, under] = [await banner.boundingBox(), await picker.boundingBox()];
    assert.ok(over.y + over.height <= under.y, "the banner covers nothing");
    await shoot("overview-offline");
    await page.context().setOffline(false);
    await page.getByRole("link", { name: "Rules live on 2/2 gates" }).waitFor(SLOWLY);
}

/** Gates that do not reach Redis are reported on every page, also without traffic. */
async function withoutRedis(page, shoot) {
    const asked = /\/replicas$/;
    await page.route(asked, async (route) => {
        const response = await route.fetch();
        const { data, ...replicas } = await response.json();
        const named = (rule) => ({ id: `rule_${rule}`, name: rule });
        const without_redis = {
            gates: 2, since: new Date(Date.now() - 90_000).toISOString(), checks: 1682,
            allow: { count: 9, first: ["login-per-user", "search", "upload"].map(named) },
            local: { count: 3, first: ["api-per-customer", "export", "reports"].map(named) },
            deny: { count: 1, first: [named("payments")] },
        };
        const json = { ...replicas, data: data.map((gate) => ({ ...gate, redis_up: false })), without_redis };
        await route.fulfill({ response, json });
    });
    const state = page.getByRole("region", { name: "State" });
    const since = /^.?Redis is unavailable at 2 of 2 gates since \d\d:\d\d:\d\d\. Answered without it so far: 1,682\.$/;
    await state.getByText(since).waitFor(SLOWLY);
    await state.getByText("9 rules allow every check:").waitFor();
    await state.getByText("3 rules divide their limits among the gates:").waitFor();
    await state.getByText("1 rule denies every check:").waitFor();
    assert.match(await state.getByRole("link", { name: "payments" }).getAttribute("href"), /\/rules\/rule_payments$/);
    await state.getByRole("link", { name: "and 6 more" }).waitFor();
    await page.getByRole("link", { name: "No Redis at 2/2 gates" }).waitFor(SLOWLY);
    await shoot("overview-without-redis");
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("link", { name: "Rules live on 2/2 gates" }).waitFor(SLOWLY);
}

/** A share is left out if its error exceeds a tenth of the checks. */
async function uncertain(page) {
    const asked = /stats\/top\?by=subject/;
    await page.route(asked, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), error_at_most: 86 } });
    });
    await page.reload();
    await page.getByText("Approximate: of a subject, up to 86 checks can be counted too many, and as many denials too few.").waitFor();
    const subjects = page.getByRole("region", { name: "Most denied subjects" }).last();
    const cells = await subjects.getByRole("row").filter({ hasText: "user u-1" }).first().getByRole("cell").allTextContents();
    assert.ok(cells.includes("–") && !cells.some((text) => text.endsWith("%")), `${cells}`);
    await page.unroute(asked);
}

/** Subjects are counted later than denials. Until then the list does not say that there are none. */
async function counting(page) {
    const asked = /stats\/top\?by=subject/;
    await page.route(asked, async (route) => {
        const response = await route.fetch();
        const top = await response.json();
        await route.fulfill({ response, json: { ...top, data: [], as_of: top.from } });
    });
    await page.reload();
    await page.getByText("Counting… Subjects are listed up to 10 seconds after their denials.").waitFor();
    assert.equal(await page.getByText("No denials in this period").count(), 0);
    await page.unroute(asked);
}

/** Two users with five checks each, three of them allowed, alternating between the gates. */
async function send() {
    for (let at = 0; at < 10; at += 1) {
        const gate = stack.gates[at % stack.gates.length];
        const answer = await check(gate, secret, { attributes: { user: `u-${at % 2}` } });
        assert.equal(answer.allowed, at < 6, `check ${at}`);
    }
}

/** The rule list shows the share of denials in the last hour. */
async function inTheList(page, shoot) {
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    await page.getByRole("row", { name }).getByText("40%").waitFor(SLOWLY);
    const shadow = page.getByRole("row", { name: watched });
    await shadow.getByText("would deny 40%").waitFor();
    await shadow.getByText("0%", { exact: true }).waitFor();
    await shoot("rules-last-hour");
    await page.goBack();
    await heading(page, "Overview");
}

async function readByKeyboard(page) {
    const plot = page.getByRole("img", { name: /^Checks/ });
    await plot.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowRight");
    const shown = page.getByText(/: \d+ allowed, \d+ denied, \d+ would be denied \(not complete yet\)$/);
    await shown.waitFor();
    assert.match(await shown.textContent(), /, \d\d:\d\d(:\d\d)?[–:]/, "the clock of the axis, with 24 hours");
    await page.getByText("View as table").click();
    await page.getByRole("region", { name: "Values" }).getByRole("row").nth(1).waitFor();
    const cells = await page.getByRole("region", { name: "Values" }).getByRole("cell").allTextContents();
    const allowed = cells.filter((_, at) => at % 3 === 0).reduce((sum, text) => sum + Number(text), 0);
    assert.equal(allowed, 6, "the table shows the values of the chart");
}

/** The state as a sentence, the changes of the period, and the legend, which filters. */
async function legend(page) {
    await page.getByRole("region", { name: "State" }).getByText(/^.?40% of checks are denied/).waitFor();
    await page.getByRole("region", { name: "What changed" }).getByText(`Created rule ${name}`).waitFor();
    const flag = page.getByRole("button", { name: new RegExp(`Created rule ${name}`) });
    await flag.click();
    const allowed = page.getByRole("group", { name: "Legend" }).getByRole("button", { name: "Allowed" });
    await allowed.click();
    await page.getByRole("button", { name: "Allowed", pressed: false }).waitFor();
    await allowed.click({ modifiers: ["Alt"] });
    await page.getByRole("button", { name: "Denied", pressed: false }).first().waitFor();
    await allowed.click({ modifiers: ["Alt"] });
}

/** Dragging over the chart sets the range in the URL, and Back restores the previous one. */
async function zoomIn(page, shoot) {
    const plot = page.getByRole("img", { name: /^Checks/ });
    const { x, y, width } = await plot.boundingBox();
    await page.mouse.move(x + width * 0.5, y + 50);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.9, y + 50, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/\?from=\d+&to=\d+/);
    const ring = await plot.evaluate((node) => getComputedStyle(node).outlineStyle);
    assert.equal(ring, "none", "only the keyboard draws a ring round the chart");
    await shoot("overview-zoomed");
    await page.getByRole("button", { name: "Reset zoom" }).click();
    await page.waitForURL(/\?last=1h/);
    await page.goBack();
    await page.waitForURL(/\?from=/);
    await page.goBack();
    await page.getByRole("button", { name: "1 h", pressed: true }).waitFor();
    await page.getByLabel("Compare with").selectOption({ label: "Previous period" });
    await page.waitForURL(/compare=previous/);
    await page.getByText("Compared period").waitFor();
    await page.getByLabel("Compare with").selectOption({ label: "Day before" });
    await page.getByText("Changes are against the same time a day before.").waitFor();
    await page.getByLabel("Compare with").selectOption({ label: "No comparison" });
    await page.getByText("Changes are against the previous period of the same length.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Zoom out" }).count(), 0, "nothing is zoomed");
    await page.getByRole("button", { name: "Custom" }).click();
    await page.getByLabel("From", { exact: true }).fill("2026-01-02T03:04");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "24 h" }).click();
    await page.waitForURL(/\?last=24h/);
    await page.getByRole("button", { name: "24 h", pressed: true }).waitFor();
}

// A webhook whose secret is shown once, a signed test event at a real receiver, an alert that fires once, the back-test of an
// alert, a failing receiver with a resent delivery, and the page of a viewer.
import { strict as assert } from "node:assert";
import { createHmac } from "node:crypto";

import { receive } from "../receiver.mjs";
import { api, check, colleague, eventually, fresh, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("alerts");
const home = `/t/${owner.tenant}`;
const receiver = await receive();
const key = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "checks", scopes: ["check"] }, owner);
// The page reads the results of deliveries every five seconds.
const LATER = { timeout: 30_000 };

try {
    await scenario("alerts", async ({ page, shoot }) => {
        await signIn(page, { ...owner, next: `${home}/alerts` });
        await heading(page, "Alerts");
        await page.getByText("No webhooks yet").waitFor();
        await shoot("alerts-nothing");
        const secret = await makeWebhook(page, shoot);
        await test(page, secret, shoot);
        await makeRule();
        await page.reload();
        await makeAlert(page, shoot);
        await firesOnce(page, secret, shoot);
        await countedOnEveryPage(page);
        await edit(page, shoot);
        await backtest(page, shoot);
        await failure(page, shoot);
        await rotate(page);
        await editWebhook(page, shoot);
        await slack(page, shoot);
        await mute(page);
    });
    await scenario("alerts of a viewer", async ({ page, shoot }) => {
        const viewer = await colleague(owner, "alerts-viewer", "viewer");
        await signIn(page, { ...viewer, next: `${home}/alerts` });
        await heading(page, "Alerts");
        await row(page, "night shift").first().waitFor();
        assert.ok(await page.getByRole("button", { name: "New alert" }).isDisabled());
        assert.ok(await page.getByRole("button", { name: "New webhook" }).isDisabled());
        await page.getByRole("button", { name: "Deliveries of night shift" }).click();
        await page.getByText("webhook.test", { exact: true }).first().waitFor();
        await shoot("alerts-viewer");
    });
} finally {
    receiver.close();
}

async function countedOnEveryPage(page) {
    await page.reload();
    const pages = page.getByRole("navigation", { name: "Pages", exact: true });
    await pages.getByRole("link", { name: "Alerts 1 fired in the last hour" }).waitFor(LATER);
}

async function makeWebhook(page, shoot) {
    await page.getByRole("button", { name: "New webhook" }).click();
    await page.getByLabel("Webhook name").fill("on call");
    await page.getByLabel("URL").fill(receiver.url);
    await page.getByRole("button", { name: "Create webhook" }).click();
    await page.getByRole("dialog", { name: "Secret of on call" }).waitFor();
    const secret = await page.getByRole("group", { name: "Copy secret" }).locator("code").textContent();
    assert.match(secret, /^whsec_/);
    await shoot("alerts-secret");
    await page.getByRole("button", { name: "I have saved it" }).click();
    await page.getByText("No alerts yet").waitFor();
    return secret;
}

async function test(page, secret, shoot) {
    await page.getByRole("button", { name: "Send a test event to on call" }).click();
    const message = await receiver.next();
    assert.equal(JSON.parse(message.body).type, "webhook.test");
    signed(message, secret);
    await page.getByText("Delivered", { exact: true }).waitFor();
    await shoot("alerts-test");
    await page.getByRole("button", { name: "Close" }).click();
}

async function makeRule() {
    const limits = [{ algorithm: "quota", limit: 5, period: "month" }];
    await api("POST", `/tenants/${owner.tenant}/rules`, { name: `monthly-${fresh}`, limits }, owner);
}

async function makeAlert(page, shoot) {
    await page.getByRole("button", { name: "New alert" }).click();
    await page.getByLabel("Name", { exact: true }).fill("nearly used up");
    await page.getByText("Fires when 20% or more of at least 100 checks are denied within 5 minutes").waitFor();
    await page.getByLabel("Denial rate (%)").fill("many");
    await page.getByText("must be a whole number from 1 to 100").waitFor();
    assert.ok(await page.getByRole("button", { name: "Create alert" }).isDisabled());
    await page.getByLabel("Condition").selectOption({ label: "Quota usage" });
    await page.getByLabel("Rule with a quota").selectOption({ label: `default / monthly-${fresh}` });
    await page.getByLabel("Percent of the quota").fill("60, 100");
    await page.getByText(`Fires when a subject of default / monthly-${fresh} reaches 60 or 100% of its quota`).waitFor();
    await shoot("alerts-form");
}

/** The alert is created when three of five units are used already, so its first evaluation fires. */
async function firesOnce(page, secret, shoot) {
    for (let at = 0; at < 3; at += 1) await check(stack.gates[0], key.secret, { attributes: {} });
    await page.getByRole("button", { name: "Create alert" }).click();
    await alertRow(page).waitFor();
    const message = await receiver.next();
    signed(message, secret);
    const event = JSON.parse(message.body);
    assert.equal(event.type, "alert.quota");
    assert.deepEqual([event.data.threshold_percent, event.data.used, event.data.limit], [60, 3, 5]);
    // The page shows it by itself, and so does the overview.
    await alertRow(page).getByText("Fired", { exact: true }).waitFor(LATER);
    await alertRow(page).getByText(/^(just now|\d+ s ago)$/).waitFor();
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await page.getByRole("region", { name: "State" }).getByText(/^Alerts fired: nearly used up/).waitFor(LATER);
    await shoot("overview-alert");
    await page.goBack();
    await heading(page, "Alerts");
    await page.getByRole("button", { name: "Deliveries of on call" }).click();
    await page.getByText("alert.quota", { exact: true }).waitFor();
    await shoot("alerts-fired");
}

async function edit(page, shoot) {
    await page.getByRole("button", { name: "Edit nearly used up" }).click();
    await page.getByRole("dialog", { name: "Change nearly used up" }).waitFor();
    await page.getByLabel("Enabled").uncheck();
    await page.getByRole("button", { name: "Save alert" }).click();
    await alertRow(page).getByText("Off", { exact: true }).waitFor();
    await shoot("alerts-list");
    // An alert that is disabled while it fires announces its end.
    await receiver.nextOf(({ body }) => JSON.parse(body).type === "alert.resolved");
}

/** Two of ten more checks are allowed, so eight of thirteen were denied. A changed condition is tested again by itself. */
async function backtest(page, shoot) {
    for (let at = 0; at < 10; at += 1) await check(stack.gates[0], key.secret, { attributes: {} });
    const condition = { kind: "denial_share", share_percent: 50, window_s: 3600, checks_min: 13 };
    const fired = () => api("POST", `/tenants/${owner.tenant}/alerts/backtest`, condition, owner);
    await eventually("the denials are counted", async () => (await fired()).fired === 1);
    await page.getByRole("button", { name: "New alert" }).click();
    const form = page.getByRole("dialog", { name: "New alert" });
    const part = form.getByRole("region", { name: "Back-test" });
    await part.getByText("Replays the alert against past traffic").waitFor();
    await form.getByLabel("Denial rate (%)").fill("50");
    await form.getByLabel("Within").selectOption({ label: "1 hour" });
    await form.getByLabel("Minimum checks").fill("13");
    await part.getByRole("button", { name: "Run back-test" }).click();
    await part.getByText("Would have fired once in the last 24 hours", { exact: true }).waitFor();
    const firing = part.getByRole("region", { name: "Firings" }).getByRole("row").nth(1);
    await firing.getByText("61.5% (8 of 13)").waitFor();
    await shoot("alerts-backtest");
    await form.getByLabel("Denial rate (%)").fill("90");
    await part.getByText("Would not have fired in the last 24 hours: the denial rate was at most 61.5%").waitFor();
    await form.getByLabel("Minimum checks").fill("5000");
    await part.getByText("there were never 5,000 checks within 1 hour").waitFor();
    await part.getByLabel("Over the").selectOption({ label: "Last 3 days" });
    await part.getByText("Would not have fired in the last 3 days").waitFor();
    await shoot("alerts-backtest-never");
    await refusedBacktest(page, form, part);
    await form.getByLabel("Condition").selectOption({ label: "Quota usage" });
    await part.getByText("Quota alerts cannot be back-tested").waitFor();
    await form.getByRole("button", { name: "Cancel" }).click();
}

/** A back-test that the server cannot run says so, and can be run again. */
async function refusedBacktest(page, form, part) {
    page.expectFault(/status 503: POST .*\/alerts\/backtest/);
    page.expectFault(/console: Failed to load resource.*503/);
    const code = "unavailable";
    const body = { type: `urn:weir:problem:${code}`, title: "Busy", status: 503, detail: "the database is busy", code, request_id: "r" };
    await page.route("**/alerts/backtest", (route) =>
        route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify(body) }),
    );
    await form.getByLabel("Minimum checks").fill("14");
    await part.getByRole("alert").getByText("The database is busy").waitFor();
    await page.unroute("**/alerts/backtest");
    await part.getByRole("button", { name: "Run back-test" }).click();
    await part.getByText("there were never 14 checks within 1 hour").waitFor();
    assert.equal(await part.getByRole("alert").count(), 0);
}

async function failure(page, shoot) {
    receiver.status = 503;
    await page.getByRole("button", { name: "Send a test event to on call" }).click();
    await receiver.next();
    await page.getByText("Retrying", { exact: true }).waitFor();
    const warning = page.getByText("Deliveries fail: on call.");
    await warning.waitFor(LATER);
    await row(page, "on call").getByText("1 not delivered").waitFor();
    await shoot("alerts-failure");
    receiver.status = 200;
    await page.getByRole("region", { name: "Delivery log" }).getByRole("button", { name: "Resend" }).first().click();
    await receiver.next();
    await warning.waitFor({ ...LATER, state: "detached" });
}

async function rotate(page) {
    await page.getByRole("button", { name: "Rotate on call" }).click();
    const dialog = page.getByRole("dialog", { name: "Rotate on call?" });
    await dialog.getByLabel("Old secret").selectOption({ label: "Keep for 24 hours" });
    await dialog.getByRole("button", { name: "Rotate secret" }).click();
    const secret = page.getByRole("dialog", { name: "Secret of on call" });
    await secret.getByText("Deliveries are also signed with the previous secret until").waitFor();
    await secret.getByRole("button", { name: "I have saved it" }).click();
    await secret.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Send a test event to on call" }).click();
    // Retries of the failed delivery can arrive before.
    await receiver.nextOf(({ headers }) => headers["webhook-signature"].split(" ").length === 2);
}

/** A new name and address apply to the next delivery; an invalid address is reported at the field. */
async function editWebhook(page, shoot) {
    await page.getByRole("button", { name: "Edit on call" }).click();
    const dialog = page.getByRole("dialog", { name: "Change on call" });
    const url = dialog.getByLabel("URL");
    assert.equal(await url.inputValue(), receiver.url);
    await url.fill("ftp://hooks.example.com/weir");
    await dialog.getByText("Must begin with https://").waitFor();
    page.expectFault(/status 422: PUT .*\/webhooks\//);
    page.expectFault(/console: Failed to load resource.*422/);
    await url.fill("https://name:secret@hooks.example.com/weir");
    await dialog.getByRole("button", { name: "Save webhook" }).click();
    await dialog.locator("input[aria-invalid=true]").waitFor();
    await shoot("alerts-webhook-edit");
    await url.fill(`${receiver.url}?team=night`);
    await dialog.getByLabel("Webhook name").fill("night shift");
    await dialog.getByRole("button", { name: "Save webhook" }).click();
    await page.getByRole("heading", { name: "Deliveries of night shift" }).waitFor();
    await row(page, `${receiver.url}?team=night`).getByText("night shift", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Send a test event to night shift" }).click();
    await receiver.nextOf(({ url }) => url === "/hook?team=night");
}

/** A webhook for people has no secret to show. Its test is a sentence, and the table says which alerts it gets. */
async function slack(page, shoot) {
    await page.getByRole("button", { name: "New webhook" }).click();
    const form = page.getByRole("dialog", { name: "New webhook" });
    await form.getByLabel("Webhook name").fill("ops");
    await form.getByLabel("Kind").selectOption({ label: "E-mail" });
    await form.getByLabel("Recipients").waitFor();
    await form.getByLabel("Kind").selectOption({ label: "PagerDuty" });
    await form.getByLabel("Integration key").fill("short");
    await form.getByText("Must be 32 letters and digits").waitFor();
    await form.getByLabel("Kind").selectOption({ label: "Slack" });
    await form.getByLabel("URL").fill(`${receiver.url}?slack`);
    await shoot("alerts-webhook-slack");
    await form.getByRole("button", { name: "Create webhook" }).click();
    await form.waitFor({ state: "detached" });
    const webhooks = page.getByRole("region", { name: "Webhooks" });
    await webhooks.getByRole("row").filter({ hasText: "ops" }).getByText("None", { exact: true }).waitFor();
    await webhooks.getByRole("row").filter({ hasText: "night shift" }).getByText("nearly used up").waitFor();
    assert.equal(await page.getByRole("button", { name: "Rotate ops" }).count(), 0);
    await page.getByRole("button", { name: "Send a test event to ops" }).click();
    const message = await receiver.nextOf(({ url }) => url === "/hook?slack");
    assert.equal(JSON.parse(message.body).text.split("\n")[0], "*Test*: Test of the webhook ops: nothing is wrong");
    assert.equal(message.headers["webhook-signature"], undefined);
}

async function mute(page) {
    await page.getByRole("button", { name: "Mute 1 h: nearly used up" }).click();
    await page.getByText("Muted until").waitFor();
    await page.getByRole("button", { name: "Unmute nearly used up" }).click();
    await page.getByText("Muted until").waitFor({ state: "detached" });
}

/** Verifies the signature as the documentation describes. */
function signed({ headers, body }, secret) {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const text = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const expected = `v1,${createHmac("sha256", key).update(text).digest("base64")}`;
    assert.equal(headers["webhook-signature"], expected);
}

/** The row of the alert. The row of its webhook has its name too. */
function alertRow(page) {
    return page.getByRole("region", { name: "Alerts", exact: true }).getByRole("row", { name: "nearly used up" });
}

function row(page, name) {
    return page.getByRole("row", { name });
}

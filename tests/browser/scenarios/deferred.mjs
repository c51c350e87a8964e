// Deferred jobs that fail: the reason, another attempt, removal, a job that waits, an error, and the page of a viewer.
import { strict as assert } from "node:assert";

import { receive } from "../receiver.mjs";
import { api, check, colleague, heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("deferring");
const home = `/t/${owner.tenant}`;
const receiver = await receive();
const { webhook } = await api("POST", `/tenants/${owner.tenant}/webhooks`, { name: "mailer", url: receiver.url }, owner);
const key = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "jobs", scopes: ["check"] }, owner);
const limits = [{ algorithm: "sliding_window_log", limit: 1, window_ms: 3_600_000 }];
await api("POST", `/tenants/${owner.tenant}/rules`, { namespace: "email", name: "each", count_by: ["user"], limits }, owner);
// The page reads the queue every five seconds.
const LATER = { timeout: 30_000 };

try {
    await scenario("deferred jobs", async ({ page, shoot }) => {
        await signIn(page, { ...owner, next: `${home}/deferred` });
        await heading(page, "Deferred jobs");
        await page.getByText("No failed jobs").waitFor();
        await tile(page, "Waiting").getByText("0% of 20,000").waitFor();
        await tile(page, "Size of waiting jobs").getByText("0% of 64 MiB").waitFor();
        await shoot("deferred-nothing");
        await fails(page, shoot);
        await retries(page);
        await removes(page, shoot);
        await waits(page, shoot);
        await cannotBeRead(page, shoot);
    });
    await scenario("deferred jobs of a viewer", async ({ page, shoot }) => {
        receiver.status = 500;
        await defer("u-3", { not_after_ms: 5_000 });
        const viewer = await colleague(owner, "deferring-viewer", "viewer");
        await signIn(page, { ...viewer, next: `${home}/deferred` });
        await heading(page, "Deferred jobs");
        await row(page, "u-3").waitFor(LATER);
        await page.getByText("You are a Viewer").first().waitFor();
        for (const action of ["Retry", "Delete"]) {
            assert.ok(await page.getByRole("button", { name: `${action} email user=u-3` }).isDisabled(), action);
        }
        await page.getByRole("button", { name: "Payload of email user=u-3" }).click();
        await page.getByRole("dialog", { name: "Payload" }).getByText('"to": "u-3"').waitFor();
        await page.getByRole("dialog", { name: "Payload" }).getByRole("button", { name: "Close" }).click();
        await shoot("deferred-viewer");
    });
} finally {
    receiver.close();
}

/** Refused jobs appear by themselves, with the reason. */
async function fails(page, shoot) {
    receiver.status = 500;
    for (const user of ["u-1", "u-2"]) await defer(user, { not_after_ms: 5_000 });
    for (const user of ["u-1", "u-2"]) {
        await row(page, user).getByText("not delivered in time: the receiver answered 500").waitFor(LATER);
    }
    await tile(page, "Failed").getByText("2", { exact: true }).waitFor(LATER);
    await page.getByRole("button", { name: "Payload of email user=u-1" }).click();
    const dialog = page.getByRole("dialog", { name: "Payload" });
    await dialog.getByText('"to": "u-1"').waitFor();
    await shoot("deferred-payload");
    await dialog.getByRole("button", { name: "Close" }).click();
    await shoot("deferred-failed");
}

async function retries(page) {
    receiver.status = 200;
    await page.getByRole("button", { name: "Retry email user=u-1" }).click();
    await page.getByText("The job waits again").waitFor();
    await row(page, "u-1").waitFor({ ...LATER, state: "detached" });
    const delivered = ({ status }) => status === 200;
    const { body } = await receiver.nextOf(delivered);
    assert.deepEqual(JSON.parse(body).data.payload, { to: "u-1" });
}

/** The confirmation can be left without an effect. */
async function removes(page, shoot) {
    const remove = page.getByRole("button", { name: "Delete email user=u-2" });
    const dialog = page.getByRole("dialog", { name: "Delete this job?" });
    await remove.click();
    await dialog.getByText("This cannot be undone").waitFor();
    await shoot("deferred-delete");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await row(page, "u-2").waitFor();
    await remove.click();
    await dialog.getByRole("button", { name: "Delete job" }).click();
    await page.getByText("Job deleted").waitFor();
    await page.getByText("No failed jobs").waitFor(LATER);
}

/** A job that the limit denies waits for an hour. */
async function waits(page, shoot) {
    const { state } = await defer("u-1", {}, "again");
    assert.equal(state, "waiting");
    await tile(page, "Waiting").getByText("1", { exact: true }).waitFor(LATER);
    await tile(page, "Waiting").getByText("< 1% of 20,000").waitFor();
    await shoot("deferred-waiting");
}

/** A problem takes the place of the data, and the page recovers by itself. */
async function cannotBeRead(page, shoot) {
    page.expectFault(/status 503: GET .*\/deferred/);
    page.expectFault(/console: Failed to load resource.*503/);
    const code = "unavailable";
    const body = { type: `urn:weir:problem:${code}`, title: "Busy", status: 503, detail: "Redis cannot be reached", code, request_id: "r" };
    const path = /\/api\/v1\/tenants\/[^/]+\/deferred/;
    const refuse = (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify(body) });
    await page.route(path, refuse);
    await page.reload();
    await heading(page, "Deferred jobs");
    await page.getByRole("alert").getByText("Redis cannot be reached").first().waitFor();
    await shoot("deferred-error");
    await page.unroute(path);
    await page.getByText("No failed jobs").waitFor(LATER);
}

/** Defers a job at a gate that knows the rules. Returns the answer. */
async function defer(user, more, suffix = "") {
    await check(stack.gates[0], key.secret, { namespace: "email", attributes: { user }, mode: "peek" });
    const answer = await fetch(`${stack.gates[0]}/defer`, {
        method: "POST",
        headers: { authorization: `Bearer ${key.secret}`, "content-type": "application/json" },
        body: JSON.stringify({
            namespace: "email",
            attributes: { user },
            target: webhook.id,
            payload: { to: user },
            idempotency_key: `${user} ${suffix}`,
            ...more,
        }),
    });
    if (!answer.ok) throw new Error(`defer: ${answer.status} ${await answer.text()}`);
    return answer.json();
}

function tile(page, name) {
    return page.locator(".tile").filter({ has: page.getByText(name, { exact: true }) });
}

function row(page, user) {
    return page.getByRole("row", { name: `user=${user}` });
}

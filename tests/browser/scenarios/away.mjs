// A server that becomes unreachable and returns: one banner reports it, the input stays, and pages continue by themselves.
import { strict as assert } from "node:assert";

import { heading, newcomer, signIn, scenario } from "../steps.mjs";

const person = await newcomer("waiter");
const API = /\/api\/v1\//;

await scenario("away", async ({ page, shoot }) => {
    page.expectFault(/request failed: \w+ .*\/api\/v1\/.*ERR_CONNECTION_REFUSED/);
    page.expectFault(/console: Failed to load resource: net::ERR_CONNECTION_REFUSED/);
    await signIn(page, { ...person, next: `/t/${person.tenant}/rules` });
    await heading(page, "Rules");
    await pageWithoutData(page, shoot);
    await failedAction(page);
    await overloaded(page, shoot);
    await proxyError(page);
    await reloadedMeanwhile(page, shoot);
    await unknownPerson(page);
});

async function pageWithoutData(page, shoot) {
    await away(page);
    await page.getByRole("link", { name: "API keys" }).click();
    await heading(page, "API keys");
    await page.getByText("Weir cannot be reached").waitFor();
    await shoot("server-away");
    assert.equal(await page.getByText("Weir cannot be reached").count(), 1, "one banner for the whole page");
    await page.getByText(/Showing data from \d\d:\d\d:\d\d/).waitFor();
    await back(page);
    await page.getByText("No API keys yet").waitFor();
    await page.getByText("Weir cannot be reached").waitFor({ state: "detached" });
}

/** The input stays, and the second attempt succeeds. */
async function failedAction(page) {
    await page.getByRole("button", { name: "New key" }).click();
    await away(page);
    await page.getByLabel("Name", { exact: true }).fill("patient");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Not sent").waitFor();
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "patient");
    await back(page);
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Copy it now").waitFor();
    await page.getByRole("button", { name: "I have saved it" }).click();
}

/** A problem document shows the request id, which is also in the logs. */
async function overloaded(page, shoot) {
    page.expectFault(/status 503: GET .*\/members/);
    page.expectFault(/console: Failed to load resource.*503/);
    const body = {
        type: "about:blank", title: "Not available at the moment", status: 503, code: "unavailable",
        detail: "the database is away", request_id: "req_01", fields: [],
    };
    const answer = { status: 503, contentType: "application/problem+json", body: JSON.stringify(body) };
    await page.route(/\/members\?/, (route) => route.fulfill(answer));
    await page.getByRole("link", { name: "Members" }).click();
    await heading(page, "Members");
    await page.getByText("Not available at the moment").waitFor();
    await page.getByText("req_01").waitFor();
    await shoot("server-unavailable");
    await page.unroute(/\/members\?/);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("row", { name: person.email }).waitFor();
}

/** A proxy that responds with its own page. */
async function proxyError(page) {
    page.expectFault(/status 502: GET .*\/replicas/);
    page.expectFault(/console: Failed to load resource.*502/);
    const answer = { status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" };
    await page.route(/\/replicas$/, (route) => route.fulfill(answer));
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Gates" }).click();
    await page.getByText("Unexpected response").waitFor();
    await page.unrouteAll();
    await page.getByText("The current rules are live on").waitFor();
}

async function reloadedMeanwhile(page, shoot) {
    await away(page);
    await page.reload();
    await page.getByText("Weir cannot be reached").waitFor();
    await shoot("server-away-at-start");
    await back(page);
    await heading(page, "Gates");
    await page.getByText("The current rules are live on").waitFor();
}

/** The shell loads its own data, and reports when that fails. */
async function unknownPerson(page) {
    const me = /\/api\/v1\/me$/;
    await page.route(me, (route) => route.abort("connectionrefused"));
    await page.reload();
    await page.getByText("The current rules are live on").waitFor();
    const tenant = page.getByRole("combobox", { name: "Tenant" });
    await page.getByText("Weir cannot be reached").waitFor();
    await page.unroute(me);
    await tenant.locator("option:checked", { hasText: "Tenant of waiter" }).waitFor({ state: "attached" });
    await page.getByText("Weir cannot be reached").waitFor({ state: "detached" });
}

async function away(page) {
    await page.route(API, (route) => route.abort("connectionrefused"));
}

async function back(page) {
    await page.unroute(API);
}

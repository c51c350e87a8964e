// The story of a server that goes away and comes back: pages say so, keep what was typed, and go on by one button.
import { strict as assert } from "node:assert";

import { heading, newcomer, signIn, tell } from "../steps.mjs";

const person = await newcomer("waiter");
const API = /\/api\/v1\//;

await tell("away", async ({ page, shoot }) => {
    page.expectFault(/request failed: \w+ .*\/api\/v1\/.*ERR_CONNECTION_REFUSED/);
    page.expectFault(/console: Failed to load resource: net::ERR_CONNECTION_REFUSED/);
    await signIn(page, { ...person, next: `/t/${person.tenant}/rules` });
    await heading(page, "Rules");
    await pageWithoutData(page, shoot);
    await actThatFails(page);
    await overloaded(page, shoot);
    await someoneElseAnswers(page);
    await reloadedMeanwhile(page, shoot);
    await unknownPerson(page);
});

async function pageWithoutData(page, shoot) {
    await away(page);
    await page.getByRole("link", { name: "Keys" }).click();
    await heading(page, "Keys");
    await page.getByText("The server cannot be reached").waitFor();
    await shoot("server-away");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("The server cannot be reached").waitFor();
    await back(page);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("No keys yet.").waitFor();
}

/** What was typed stays; the second try does it. */
async function actThatFails(page) {
    await away(page);
    await page.getByLabel("Name", { exact: true }).fill("patient");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("The server cannot be reached").waitFor();
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "patient");
    await back(page);
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Store it now").waitFor();
    await page.getByRole("button", { name: "I stored it" }).click();
}

/** A problem in our own form shows the request, to look it up in the logs. */
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

/** A proxy with a page of its own. */
async function someoneElseAnswers(page) {
    page.expectFault(/status 502: GET .*\/replicas/);
    page.expectFault(/console: Failed to load resource.*502/);
    const answer = { status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" };
    await page.route(/\/replicas$/, (route) => route.fulfill(answer), { times: 1 });
    await page.getByRole("link", { name: "Replicas" }).click();
    await page.getByText("The answer cannot be read").waitFor();
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("The present rules are live on").waitFor();
}

async function reloadedMeanwhile(page, shoot) {
    await away(page);
    await page.reload();
    await page.getByText("The server cannot be reached").waitFor();
    await shoot("server-away-at-start");
    await back(page);
    await page.getByRole("button", { name: "Try again" }).click();
    await heading(page, "Replicas");
    await page.getByText("The present rules are live on").waitFor();
}

/** The frame has its own data, and says so when that is missing. */
async function unknownPerson(page) {
    const me = /\/api\/v1\/me$/;
    await page.route(me, (route) => route.abort("connectionrefused"));
    await page.reload();
    await page.getByText("The present rules are live on").waitFor();
    const tenant = page.getByRole("combobox", { name: "Tenant" });
    await page.getByText("The server cannot be reached").waitFor();
    await page.unroute(me);
    await page.getByRole("button", { name: "Try again" }).click();
    await tenant.locator("option:checked", { hasText: "Tenant of waiter" }).waitFor({ state: "attached" });
    await page.getByText("The server cannot be reached").waitFor({ state: "detached" });
}

async function away(page) {
    await page.route(API, (route) => route.abort("connectionrefused"));
}

async function back(page) {
    await page.unroute(API);
}

// A customer's own view: the page /u/ with a logo, alone and in a frame of another site; an expired token, and a gate that fails and returns.
// The element in another site, which gets its tokens from that site; a gate that is asked too often; forced colors.
// The gate and the control plane are stand-ins on loopback; the files are those that the server embeds.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

import { withBrowser } from "../browser.mjs";

const PUBLIC = new URL("../../../frontend/public/", import.meta.url);
const KINDS = { js: "text/javascript", css: "text/css", svg: "image/svg+xml", html: "text/html" };
const limit = { rule: "requests-per-org", description: "Requests of your company", algorithm: "fixed_window", limit: 1000, used: 400, remaining: 600, reset_after_ms: 720_000 };
const answer = { customer: "acme", plan: "pro", limits: [limit, { ...limit, description: "", rule: "exports", used: 1000, remaining: 0, reset_after_ms: null }], at: new Date().toISOString() };
const logo = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const state = { gate: 200, limits: answer.limits, token: "view_good", tokens: 0, asked: 0 };

const later = { "retry-after": "3600", "access-control-expose-headers": "retry-after" };

const gate = await serve((request, reply) => {
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "authorization" };
    if (request.method === "OPTIONS") return reply(204, "", cors);
    assert.equal(request.url, "/usage", "the address has no token");
    const status = request.headers.authorization === `Bearer ${state.token}` ? state.gate : 401;
    state.asked += 1;
    reply(status, JSON.stringify({ ...answer, limits: state.limits }), { ...cors, "content-type": "application/json", ...(status === 429 && later) });
});
const control = await serve((request, reply) => {
    if (request.url === "/api/v1/view") {
        const view = { customer: "acme", title: "Example API", color: "#ffe14d", logo, gates: [gate.url] };
        return reply(request.headers.authorization === "Bearer view_old" ? 401 : 200, JSON.stringify(view));
    }
    const path = request.url === "/u/" ? "u/index.html" : request.url.slice(1);
    reply(200, readFileSync(new URL(path, PUBLIC)), {
        "content-type": KINDS[path.split(".").at(-1)],
        "access-control-allow-origin": "*",
        "content-security-policy": `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ${gate.url}; base-uri 'none'; form-action 'none'; frame-ancestors *`,
    });
});
const site = await serve((request, reply) => {
    if (request.url === "/token") {
        assert.equal(request.method, "POST");
        state.tokens += 1;
        return reply(200, JSON.stringify({ token: state.token }), { "content-type": "application/json" });
    }
    const usage = `<script type="module" src="${control.url}/weir-usage.js"></script><weir-usage gate="${gate.url}" token-url="/token" color="#b3261e"></weir-usage>`;
    if (request.url === "/own") return reply(200, `<!doctype html><html lang="en"><title>Site</title><main><h1>Site</h1>${usage}</main>`, { "content-type": "text/html" });
    reply(200, `<!doctype html><html lang="en"><title>Site</title><h1>Site</h1><main><iframe title="Usage" width="320" height="600" src="${control.url}/u/#view_good"></iframe></main>`, { "content-type": "text/html" });
});

try {
    assert.ok(readFileSync(new URL("weir-usage.js", PUBLIC)).length <= 15_360, "the element has at most 15 KB");
    const hosts = [gate, site].map(({ url }) => new URL(url).host);
    await withBrowser({ baseUrl: control.url, hosts, screenshots: process.env.SCREENSHOTS }, run);
    console.log("usage-view: passed");
} finally {
    for (const server of [gate, control, site]) server.close();
}

async function run({ page, shoot }) {
    await page.goto(`${control.url}/u/#view_good`);
    await page.getByText("400 of 1,000 used").waitFor();
    assert.equal(page.url(), `${control.url}/u/`, "the token left the address");
    const meter = page.getByRole("meter", { name: "Requests of your company" });
    assert.equal(await meter.getAttribute("aria-valuetext"), "400 of 1,000 used, 600 left");
    await page.getByText(/^Resets in 12 minutes, at /).waitFor();
    await page.getByText("Does not renew").waitFor();
    assert.equal(await page.locator("#logo").evaluate((image) => image.complete && image.naturalWidth), 1);
    await shoot("usage-view");

    page.expectFault(/503/);
    state.gate = 503;
    await page.locator("weir-usage").evaluate((usage) => usage.setAttribute("refresh", "5"));
    await page.getByText(/^Your usage could not be loaded\. These numbers are from /).waitFor();
    await meter.waitFor();
    await shoot("usage-view-unreachable");
    state.gate = 200;
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText(/^Plan pro · Updated /).waitFor();

    page.expectFault(/401/);
    await page.locator("weir-usage").evaluate((usage) => usage.setAttribute("token", "view_late"));
    await page.getByText("This link has expired. Open the link in Example API again.").waitFor();
    await shoot("usage-view-expired");
    await page.goto(`${control.url}/u/#view_old`);
    await page.getByText("This link has expired. Open the link in the site that you came from again.").waitFor();
    await page.reload();
    await page.getByText(/^This page needs a link/).waitFor();

    state.limits = [];
    await page.goto(site.url);
    await page.frameLocator("iframe").getByText("No limits apply.").waitFor();
    state.limits = answer.limits;
    await page.reload();
    await page.frameLocator("iframe").getByText("400 of 1,000 used").waitFor();
    await element(page, shoot);
}

/** The element asks the site for a token once, and again when the gate refuses it; a gate that answers 429 is asked when it says. */
async function element(page, shoot) {
    await page.clock.install();
    await page.goto(`${site.url}/own`);
    await page.getByText("400 of 1,000 used").waitFor();
    assert.equal(state.tokens, 1);
    await page.emulateMedia({ forcedColors: "active" });
    await page.getByRole("meter", { name: "Requests of your company" }).waitFor();
    await shoot("usage-element-forced-colors");
    await page.emulateMedia({ forcedColors: "none" });

    state.token = "view_new";
    const read = page.waitForResponse((response) => response.url() === `${gate.url}/usage` && response.status() === 200);
    await page.locator("weir-usage").evaluate((usage) => usage.setAttribute("refresh", "5"));
    await page.clock.runFor(5_000);
    await read;
    assert.equal(state.tokens, 2, "the first one was refused");

    page.expectFault(/429/);
    state.gate = 429;
    await page.clock.runFor(5_000);
    await page.getByText(/^Your usage could not be loaded\. These numbers are from /).waitFor();
    const asked = state.asked;
    state.gate = 200;
    // Twice the interval.
    await page.clock.runFor(10_000);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText(/^Plan pro · Updated /).waitFor();
    assert.equal(state.asked, asked + 1, "it did not ask by itself");
}

async function serve(answerTo) {
    const server = createServer((request, response) =>
        answerTo(request, (status, body, headers = {}) => response.writeHead(status, headers).end(body)),
    );
    await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
    return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

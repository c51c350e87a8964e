// Pages whose code is loaded on demand: prefetched after the first page, or loaded when they are opened if the data saver is
// on. If loading fails, the page says why and offers one button. A draft of the dashboard has no parts, so nothing runs.
import { strict as assert } from "node:assert";

import { heading, newcomer, signIn, stack, scenario } from "../steps.mjs";

const PART = /\/assets\/parts?-[0-9a-f]+\.(wasm|bin)$/;
const person = await newcomer("visitor");

const own = await ownParts();

if (own) {
    await scenario("parts ahead", async ({ page }) => {
        const came = Promise.all([...own.values()].map((part) => page.waitForResponse(`**/assets/${part}`)));
        await signIn(page, { ...person, next: `/t/${person.tenant}/rules` });
        await heading(page, "Rules");
        await came;
        await page.route(PART, (route) => route.abort("connectionrefused"));
        await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Simulate" }).click();
        await heading(page, "Simulate");
    });
    await scenario("parts", async ({ page, shoot }) => {
        await page.addInitScript(() => {
            Object.defineProperty(navigator, "connection", { value: { saveData: true } });
        });
        const parts = [];
        page.on("response", (response) => PART.test(response.url()) && parts.push(response));
        await page.goto(`${stack.baseUrl}/sign-in`);
        await heading(page, "Sign in");
        assert.equal(parts.length, 0, "the first page needs no part");
        await signIn(page, { ...person, next: `/t/${person.tenant}/rules` });
        await heading(page, "Rules");
        await whileItComes(page);
        for (const part of parts) await compressedAndCached(part);
        await serverAway(page, shoot);
        await serverUpdated(page, shoot);
    });
} else {
    console.log("parts: a draft has none");
}

/** The shell stays with a loading state; afterwards the new heading has focus. */
async function whileItComes(page) {
    let release;
    const released = new Promise((resolve) => (release = resolve));
    await page.route(PART, async (route) => {
        await released;
        await route.continue();
    });
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Simulate" }).click();
    await page.getByRole("status", { name: "Loading" }).waitFor();
    await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
    release();
    await heading(page, "Simulate");
    await page.locator("h1:focus", { hasText: "Simulate" }).waitFor();
    await page.unroute(PART);
}

async function compressedAndCached(part) {
    const headers = await part.allHeaders();
    assert.equal(headers["content-encoding"], "br");
    assert.match(headers["cache-control"], /immutable/);
    const icon = await fetch(`${stack.baseUrl}/icon.svg`);
    assert.equal(icon.headers.get("cache-control"), "public, max-age=86400");
}

async function serverAway(page, shoot) {
    page.expectFault(/request failed: GET .*\/assets\/part-.*ERR_CONNECTION_REFUSED/);
    page.expectFault(/request failed: GET .*\/ \(net::ERR_CONNECTION_REFUSED\)/);
    page.expectFault(/console: Failed to load resource: net::ERR_CONNECTION_REFUSED/);
    page.expectFault(/console: TypeError: Failed to fetch/);
    const all = (url) => url.pathname === "/" || PART.test(url.pathname);
    await page.route(all, (route) => route.abort("connectionrefused"));
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await page.getByText("Weir cannot be reached").waitFor();
    await shoot("part-away");
    await page.unroute(all);
    await page.getByRole("button", { name: "Try again" }).click();
    await heading(page, "Overview");
}

/** A new version has other parts. */
async function serverUpdated(page, shoot) {
    page.expectFault(/status 404: GET .*\/assets\/part-/);
    page.expectFault(/console: Failed to load resource.*404/);
    page.expectFault(/console: TypeError: .*WebAssembly/);
    const gone = `**/assets/${own.get("connecting")}`;
    await page.route(gone, (route) => route.fulfill({ status: 404 }));
    await page.getByRole("link", { name: "Alerts", exact: true }).click();
    await page.getByText("Weir was updated").waitFor();
    await shoot("part-gone");
    await page.unroute(gone);
    await page.getByRole("button", { name: "Reload" }).click();
    await heading(page, "Alerts");
}

/** The part that belongs to each group alone; `null` for a draft. */
async function ownParts() {
    const text = async (path) => (await fetch(new URL(path, stack.baseUrl))).text();
    const [boot] = (await text("/")).match(/\/assets\/boot-\w+\.js/);
    const [script] = (await text(boot)).match(/weir-\w+\.js/);
    const [fetcher] = (await text(`/assets/${script}`)).match(/fetch-\w+\.js/) ?? [];
    if (!fetcher) return null;
    const loads = (await text(`/assets/${fetcher}`)).matchAll(/__wasm_split_load_(\w+) = [^"]*"\.\/(part-\w+\.wasm)"/g);
    return new Map([...loads].map(([, group, part]) => [group, part]));
}

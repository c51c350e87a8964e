// A browser for stories: headless Chromium that reports every console error, failed request and foreign host.
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium } from "playwright-core";

const ARGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/** Runs `story` in a fresh profile; rejects when it fails or when anything went wrong on the way. */
export async function withBrowser({ baseUrl, hosts, screenshots }, story) {
    const profile = await mkdtemp(join(tmpdir(), "weir-browser-"));
    const context = await chromium.launchPersistentContext(profile, {
        executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
        args: ARGS,
        viewport: { width: 1440, height: 900 },
        colorScheme: "light",
    });
    context.setDefaultTimeout(10_000);
    const faults = [];
    const page = context.pages()[0] ?? (await context.newPage());
    watch(page, new Set([new URL(baseUrl).host, ...hosts]), faults);
    const expected = [];
    page.expectFault = (pattern) => expected.push(pattern);
    const shoot = camera(page, screenshots, faults);
    try {
        await story({ page, shoot });
    } catch (error) {
        await shoot("failed").catch(() => {});
        throw new Error([error.stack, ...faults].join("\n"));
    } finally {
        await context.close();
        await rm(profile, { recursive: true, force: true });
    }
    const surprises = unexpected(faults, expected);
    if (surprises.length > 0) {
        throw new Error(`the story was told, but:\n${surprises.join("\n")}`);
    }
}

/** The faults that the story did not announce, and announcements that did not come true. */
function unexpected(faults, expected) {
    const surprises = faults.filter((fault) => !expected.some((pattern) => pattern.test(fault)));
    const missing = expected.filter((pattern) => !faults.some((fault) => pattern.test(fault)));
    return [...surprises, ...missing.map((pattern) => `expected, and did not come: ${pattern}`)];
}

function watch(page, hosts, faults) {
    page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") {
            faults.push(`console: ${message.text()} (${message.location().url})`);
        }
    });
    page.on("pageerror", (error) => faults.push(`page error: ${error.message}`));
    const refused = new Set();
    page.on("requestfailed", (request) => {
        // An answer that says no is reported below; whether the browser read it to its end does not matter.
        if (refused.has(request) && request.failure()?.errorText === "net::ERR_ABORTED") return;
        // The browser itself lets go of what a page had asked when that page is left; a server that
        // is away or hangs up has other names.
        if (request.failure()?.errorText === "net::ERR_ABORTED") return;
        faults.push(`request failed: ${request.method()} ${request.url()} (${request.failure()?.errorText})`);
    });
    page.on("response", (response) => {
        if (response.status() >= 400) {
            refused.add(response.request());
            faults.push(`status ${response.status()}: ${response.request().method()} ${response.url()}`);
        }
    });
    page.on("request", (request) => {
        const url = new URL(request.url());
        if (url.protocol.startsWith("http") && !hosts.has(url.host)) {
            faults.push(`another host was asked: ${url}`);
        }
    });
}

/** Looks at the page in both themes, wide and narrow: nothing sticks out, axe finds nothing serious; keeps pictures. */
function camera(page, folder, faults) {
    return async (name) => {
        await page.evaluate(() => window.scrollTo(0, 0));
        if (folder) await mkdir(folder, { recursive: true });
        for (const colorScheme of ["light", "dark"]) {
            await page.emulateMedia({ colorScheme });
            for (const width of [1440, 1024, 390]) {
                await page.setViewportSize({ width, height: 900 });
                const found = await page.evaluate(() => document.documentElement.scrollWidth);
                if (found > width) faults.push(`${name}: ${found} pixels wide on a screen of ${width}`);
                if (folder) {
                    await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`), fullPage: true });
                }
            }
            faults.push(...(await barriers(page)).map((barrier) => `${name}, ${colorScheme}: ${barrier}`));
        }
        await page.emulateMedia({ colorScheme: "light" });
        await page.setViewportSize({ width: 1440, height: 900 });
    };
}

/** What axe finds serious or critical. */
async function barriers(page) {
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `axe ${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

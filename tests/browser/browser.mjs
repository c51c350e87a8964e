// A browser for scenarios: headless Chromium that reports every console error, failed request and foreign host.
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

/** Runs a scenario in a fresh profile, with `density` pixels for each pixel of CSS; rejects if it fails or if any fault occurs. */
export async function withBrowser({ baseUrl, hosts, screenshots, density = 1 }, run) {
    const profile = await mkdtemp(join(tmpdir(), "weir-browser-"));
    const context = await chromium.launchPersistentContext(profile, {
        executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
        args: ARGS,
        viewport: { width: 1440, height: 900 },
        deviceScaleFactor: density,
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
        await run({ page, shoot });
    } catch (error) {
        await shoot("failed").catch(() => {});
        throw new Error([error.stack, ...faults].join("\n"));
    } finally {
        await context.close();
        await rm(profile, { recursive: true, force: true });
    }
    const surprises = unexpected(faults, expected);
    if (surprises.length > 0) {
        throw new Error(`the scenario passed, with these faults:\n${surprises.join("\n")}`);
    }
}

/** Faults that the scenario did not expect, and expected faults that did not occur. */
function unexpected(faults, expected) {
    const surprises = faults.filter((fault) => !expected.some((pattern) => pattern.test(fault)));
    const missing = expected.filter((pattern) => !faults.some((fault) => pattern.test(fault)));
    return [...surprises, ...missing.map((pattern) => `expected fault did not occur: ${pattern}`)];
}

function watch(page, hosts, faults) {
    page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") {
            faults.push(`console: ${message.text()} (${message.location().url})`);
        }
    });
    page.on("pageerror", (error) => faults.push(`page error: ${error.message}`));
    const rejected = new Set();
    page.on("requestfailed", (request) => {
        // Error responses are reported below, whether or not the browser read them to the end.
        if (rejected.has(request) && request.failure()?.errorText === "net::ERR_ABORTED") return;
        // The browser aborts requests of a page that is left. An unreachable server causes other errors.
        if (request.failure()?.errorText === "net::ERR_ABORTED") return;
        faults.push(`request failed: ${request.method()} ${request.url()} (${request.failure()?.errorText})`);
    });
    page.on("response", (response) => {
        if (response.status() >= 400) {
            rejected.add(response.request());
            faults.push(`status ${response.status()}: ${response.request().method()} ${response.url()}`);
        }
    });
    page.on("request", (request) => {
        const url = new URL(request.url());
        if (url.protocol.startsWith("http") && !hosts.has(url.host)) {
            faults.push(`request to another host: ${url}`);
        }
    });
}

/** Checks the page in both themes and three widths: nothing overflows, and axe finds nothing. Takes screenshots. */
function camera(page, folder, faults) {
    return async (name) => {
        await page.evaluate(() => window.scrollTo(0, 0));
        if (folder) await mkdir(folder, { recursive: true });
        for (const colorScheme of ["light", "dark"]) {
            await page.emulateMedia({ colorScheme });
            for (const width of [1440, 1024, 390]) {
                await page.setViewportSize({ width, height: 900 });
                // Colours fade from one theme to the other.
                await still(page);
                const found = await page.evaluate(() => document.documentElement.scrollWidth);
                if (found > width) faults.push(`${name}: ${found} pixels wide in a window of ${width}`);
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

/** Waits until nothing slides or fades any more, so that positions and colours can be compared. */
export async function still(page) {
    await page.waitForFunction(() =>
        document
            .getAnimations()
            .filter((animation) => animation.effect.getComputedTiming().endTime !== Infinity)
            .every((animation) => animation.playState !== "running"),
    );
}

/** The violations that axe finds, and texts with a contrast that it cannot compute. */
async function barriers(page) {
    await page.evaluate(AXE);
    const { violations, incomplete } = await page.evaluate(() => globalThis.axe.run());
    const measurable = ({ any }) => !NOT_MEASURED.has(any[0]?.data?.messageKey);
    const unclear = incomplete
        .filter(({ id }) => id === "color-contrast")
        .map(({ id, nodes }) => ({ id, nodes: nodes.filter(measurable) }));
    return [...violations, ...unclear.filter(({ nodes }) => nodes.length > 0)].map(
        ({ id, nodes }) => `axe ${id}: ${nodes.map(({ target, any }) => `${target.join(" ")} (${any[0]?.message})`).join(", ")}`,
    );
}

/**
 * Reasons for which axe computes no contrast, although the colours are those of the tokens, which have a test of their own:
 * something covers the text at this place of the window (as a dialog covers the page), or the text is a symbol, a single
 * character, an empty field or part of a chart.
 */
const NOT_MEASURED = new Set([
    "bgOverlap",
    "elmPartiallyObscured",
    "elmPartiallyObscuring",
    "imgNode",
    "nonBmp",
    "outsideViewport",
    "shortTextContent",
    "emptyValue",
]);

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

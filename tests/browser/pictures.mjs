// The pictures of the README and the guide, of the tenant with traffic of `weir dev --demo`: `cargo xtask pictures`.
import { strict as assert } from "node:assert";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { api, check, fresh, heading, loaded, scenario, signIn, stack, still } from "./steps.mjs";

const FOLDER = process.env.PICTURES;
const SIZE = { width: 1280, height: 800 };
// The README shows these in both themes, the guide all in the light one.
const IN_README = ["overview", "replay", "rollout", "suggestion"];
const BYTES_MAX = 150_000;
// Pictures are shown on dense screens too.
const DENSE = { density: 2 };
const QUALITY = 0.8;
const MARGIN = 16;
// Traffic needs ten minutes for each of its bursts.
const TRAFFIC_MS = 15 * 60_000;
const POLL_MS = 2_000;
const SLOWLY = { timeout: 60_000 };
const home = `/t/${stack.tenant}`;
const tenant = `/tenants/${stack.tenant}`;

await mkdir(FOLDER, { recursive: true });
const searches = await search();
const rule = await untilWorthShowing();
await scenario("pictures", async ({ page }) => {
    await page.setViewportSize(SIZE);
    await signIn(page, { next: `${home}/overview` });
    await heading(page, "Overview");
    // The page keeps room for the first steps until it has found once that all are done.
    await page.waitForFunction((key) => localStorage.getItem(key), `weir.first-steps.${stack.tenant}`, SLOWLY);
    // First, while the burst lasts.
    await subject(page);
    await suggestion(page);
    await overview(page);
    await replay(page);
    // Last, because it changes the rule.
    await publish(page);
}, DENSE);
await scenario("pictures, start", async ({ page }) => {
    await page.setViewportSize(SIZE);
    await start(page);
}, DENSE);

/** Makes a rule on trial, for a suggestion. Its `send` sends what 40 users search in POLL_MS: most of them seldom, two of them often. */
async function search() {
    const body = {
        namespace: "search",
        name: "searches-per-user",
        description: "On trial: 60 searches in any minute for each user.",
        mode: "shadow",
        count_by: ["user"],
        limits: [{ algorithm: "sliding_window_counter", limit: 60, window_ms: 60_000 }],
    };
    const { id } = await api("POST", `${tenant}/rules`, body);
    const { secret } = await api("POST", `${tenant}/keys`, { name: `searches ${fresh}`, scopes: ["check"] });
    const due = new Array(40).fill(1);
    const perPoll = (user) => (user < 2 ? 0.5 : 0.03 + 0.015 * (user % 9));
    const send = async () => {
        for (const user of due.keys()) {
            if (due[user] >= 1) {
                due[user] -= 1;
                const attributes = { user: `u-${2001 + user}` };
                await check(stack.gates[user % stack.gates.length], secret, { namespace: "search", attributes });
            }
            due[user] += perPoll(user);
        }
    };
    return { id, send };
}

/** Waits until the edited rule has denied a burst, and recorded checks can be replayed. Returns the rule. */
async function untilWorthShowing() {
    const ends = Date.now() + TRAFFIC_MS;
    for (;;) {
        await searches.send();
        const [found] = (await api("GET", `${tenant}/rules?search=api-per-customer`)).data;
        const denials = (await api("GET", `${tenant}/stats/denials?rule_id=${found.id}&limit=200`)).data;
        const recorded = (await api("GET", `${tenant}/recorded`)).data.find(({ namespace }) => namespace === "api");
        const edited = Date.parse(found.updated_at);
        const burst = denials.filter(({ at, subject }) => subject.customer === "umbrella" && Date.parse(at) > edited);
        if (found.revision > 1 && burst.length >= 50 && recorded?.recorded >= 1_000) return found;
        assert.ok(Date.now() < ends, "the traffic has no burst");
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
}

async function subject(page) {
    const attributes = encodeURIComponent(JSON.stringify({ customer: "umbrella" }));
    await page.goto(`${stack.baseUrl}${home}/subjects?attributes=${attributes}`);
    await heading(page, "customer umbrella");
    // If the burst is over, the next one.
    await page.getByText("0 of 15 left").waitFor({ timeout: TRAFFIC_MS });
    await page.getByRole("figure", { name: "Denials" }).waitFor(SLOWLY);
    await take(page, "subject", { of: page.getByRole("main"), until: page.getByRole("region", { name: "Rules", exact: true }) });
}

async function suggestion(page) {
    await page.goto(`${stack.baseUrl}${home}/rules/${searches.id}/edit`);
    await heading(page, "Edit searches-per-user");
    // A second suggestion at the same time would be refused.
    await page.getByText(/^p99 of your subjects: [0-9]/).waitFor(SLOWLY);
    await page.getByRole("button", { name: "Suggest from traffic" }).click();
    const drawer = page.getByRole("dialog", { name: "Suggest from traffic" });
    await drawer.getByLabel("It can deny").selectOption({ label: "5% of subjects" });
    await drawer.getByText(/ per minute would have denied 2 of 40 subjects in /).waitFor(SLOWLY);
    await take(page, "suggestion", { of: drawer, until: drawer.getByRole("button", { name: "Cancel" }) });
}

async function overview(page) {
    await page.goto(`${stack.baseUrl}${home}/overview`);
    await heading(page, "Overview");
    await page.getByRole("region", { name: "Most denied subjects" }).last().getByText("customer umbrella").first().waitFor(SLOWLY);
    const chart = page.getByRole("figure").filter({ hasText: "Checks per minute" });
    await take(page, "overview", { scroll: () => scrollTo(chart) });
}

/** The difference that a smaller burst makes. */
async function replay(page) {
    const limits = [{ algorithm: "token_bucket", capacity: 10, refill_tokens: 3, refill_interval_ms: 1_000 }];
    await page.goto(`${stack.baseUrl}${home}/what-if?rule=${rule.id}&limits=${encodeURIComponent(JSON.stringify(limits))}&minutes=60`);
    await heading(page, "Replay");
    // The run of an address starts by itself.
    const result = page.getByRole("heading", { name: "Result" });
    await result.waitFor(SLOWLY);
    const chart = page.getByRole("figure").filter({ hasText: "Newly denied" });
    await chart.waitFor(SLOWLY);
    await take(page, "replay", {
        of: page.getByRole("main"),
        until: chart,
        scroll: () => scrollTo(result),
    });
}

/** The editor, the review of a change, and its way to the gates. */
async function publish(page) {
    // Without motion the preview shows the end of its run.
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.goto(`${stack.baseUrl}${home}/rules/${rule.id}/edit`);
    await heading(page, "Edit api-per-customer");
    await page.getByRole("region", { name: "Preview" }).getByRole("img").waitFor(SLOWLY);
    await take(page, "rule-editor", { of: page.getByRole("main") });
    const limit = page.getByRole("group", { name: "Limit" });
    await limit.getByLabel("Capacity").fill("10");
    await limit.getByLabel("Refill").fill("3");
    await page.getByRole("button", { name: "Review changes" }).click();
    const review = page.getByRole("dialog", { name: "Review changes" });
    await review.getByRole("region", { name: "Affected subjects" }).waitFor(SLOWLY);
    await review.getByText("Goes live on 2 gates.").waitFor(SLOWLY);
    await take(page, "review", { of: review, until: review.getByRole("button", { name: "Publish" }) });
    await review.getByRole("button", { name: "Publish" }).click();
    await page.getByText(/^Published api-per-customer, revision 3: live on 2 of 2 gates/).waitFor(SLOWLY);
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Gates" }).click();
    await heading(page, "Gates");
    await take(page, "rollout", { of: page.getByRole("main") });
}

/** A newcomer's first 429. */
async function start(page) {
    page.expectFault(/status 429: POST .*\/check/);
    page.expectFault(/console: Failed to load resource.*429.*\/check/);
    await page.goto(`${stack.baseUrl}/sign-up`);
    await heading(page, "Sign up");
    await page.getByLabel("E-mail").fill(`newcomer-${fresh}@example.com`);
    await page.getByLabel("Password").fill(`a long word ${fresh}`);
    await page.getByLabel("Tenant name").fill("Acme");
    await page.getByRole("button", { name: "Sign up" }).click();
    await heading(page, "Get started");
    await page.getByRole("region", { name: "E-mail sending" }).getByRole("button", { name: "Try in shadow mode" }).click();
    const attempt = page.getByRole("region", { name: "Try it" });
    await attempt.getByText("HTTP 200 OK").waitFor(SLOWLY);
    await page.getByRole("button", { name: "I have saved it" }).click();
    await attempt.getByRole("button", { name: "Enforce and send again" }).click();
    await attempt.getByText("HTTP 429 Too Many Requests").waitFor(SLOWLY);
    await page.getByRole("region", { name: "The first decision" }).getByText(/^So far: .* denied/).waitFor(SLOWLY);
    await take(page, "get-started", { of: page.getByRole("main"), until: attempt });
}

/** Takes a picture of the window, or of `of` as far as `until`: NAME.webp, and NAME-dark.webp for the README. */
async function take(page, name, { of, until, scroll = () => page.evaluate(() => window.scrollTo(0, 0)) } = {}) {
    await loaded(page);
    const themes = IN_README.includes(name) ? [["light", ""], ["dark", "-dark"]] : [["light", ""]];
    for (const [colorScheme, suffix] of themes) {
        await page.emulateMedia({ colorScheme });
        await scroll();
        await still(page);
        const bytes = await webp(page, await page.screenshot({ clip: of && (await part(of, until)) }));
        const path = join(FOLDER, `${name}${suffix}.webp`);
        assert.ok(bytes.length <= BYTES_MAX, `${path} would have ${bytes.length} bytes`);
        await writeFile(path, bytes);
    }
    await page.emulateMedia({ colorScheme: "light" });
}

function scrollTo(target) {
    return target.evaluate((node, above) => window.scrollBy(0, node.getBoundingClientRect().top - above), MARGIN);
}

/** The box of `of`, from the top of the window to `until`, or to the end of the window. */
async function part(of, until) {
    const { x, y, width } = await of.boundingBox();
    const top = Math.max(y, 0);
    const end = until && (await until.boundingBox());
    return { x, y: top, width, height: (end ? end.y + end.height + MARGIN : SIZE.height) - top };
}

/** Encodes a PNG as WebP. An empty page does it, because the dashboard's policy permits no such image. */
async function webp(page, png) {
    const encoder = await page.context().newPage();
    const encoded = await encoder.evaluate(
        async ({ png, quality }) => {
            const image = new Image();
            image.src = `data:image/png;base64,${png}`;
            await image.decode();
            const canvas = document.createElement("canvas");
            [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
            canvas.getContext("2d").drawImage(image, 0, 0);
            return canvas.toDataURL("image/webp", quality);
        },
        { png: png.toString("base64"), quality: QUALITY },
    );
    await encoder.close();
    return Buffer.from(encoded.split(",")[1], "base64");
}

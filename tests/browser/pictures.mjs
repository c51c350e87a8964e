// The pictures of the README and the guide, of the tenant with traffic of `weir dev --demo`: `cargo xtask pictures`.
import { strict as assert } from "node:assert";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";

import { api, fresh, heading, loaded, scenario, signIn, stack, still } from "./steps.mjs";

const FOLDER = process.env.PICTURES;
const SIZE = { width: 1440, height: 900 };
const BYTES_MAX = 250_000;
// Traffic needs ten minutes for each of its bursts.
const TRAFFIC_MS = 15 * 60_000;
const SLOWLY = { timeout: 60_000 };
const home = `/t/${stack.tenant}`;

await mkdir(FOLDER, { recursive: true });
const rule = await untilWorthShowing();
await scenario("pictures", async ({ page }) => {
    await page.setViewportSize(SIZE);
    await signIn(page, { next: `${home}/overview` });
    await heading(page, "Overview");
    // First, while the burst lasts.
    await subject(page);
    await overview(page);
    await whatIf(page);
    await ruleEditor(page);
});
await scenario("pictures, start", async ({ page }) => {
    await page.setViewportSize(SIZE);
    await start(page);
});

/** Waits until the edited rule has denied a burst, and recorded checks can be replayed. Returns the rule. */
async function untilWorthShowing() {
    const ends = Date.now() + TRAFFIC_MS;
    const tenant = `/tenants/${stack.tenant}`;
    for (;;) {
        const [found] = (await api("GET", `${tenant}/rules?search=api-per-customer`)).data;
        const denials = (await api("GET", `${tenant}/stats/denials?rule_id=${found.id}&limit=200`)).data;
        const recorded = (await api("GET", `${tenant}/recorded`)).data.find(({ namespace }) => namespace === "api");
        const edited = Date.parse(found.updated_at);
        const burst = denials.filter(({ at, subject }) => subject.customer === "umbrella" && Date.parse(at) > edited);
        if (found.revision > 1 && burst.length >= 50 && recorded?.recorded >= 1_000) return found;
        assert.ok(Date.now() < ends, "the traffic has no burst");
        await new Promise((resolve) => setTimeout(resolve, 2_000));
    }
}

async function overview(page) {
    await page.goto(`${stack.baseUrl}${home}/overview`);
    await heading(page, "Overview");
    await page.getByText(/^Current rules: live on 2 of 2 gates/).waitFor(SLOWLY);
    await page.getByRole("region", { name: "Most denied subjects" }).last().getByText("customer umbrella").first().waitFor(SLOWLY);
    const steps = page.getByRole("button", { name: "Hide the first steps" });
    if (await steps.isVisible()) await steps.click();
    await take(page, "overview");
}

/** A smaller burst, its difference, and the curve of limits. */
async function whatIf(page) {
    const limits = [{ algorithm: "token_bucket", capacity: 10, refill_tokens: 3, refill_interval_ms: 1_000 }];
    await page.goto(`${stack.baseUrl}${home}/what-if?rule=${rule.id}&limits=${encodeURIComponent(JSON.stringify(limits))}&minutes=60`);
    await heading(page, "Replay");
    // The run of an address starts by itself.
    const result = page.getByRole("heading", { name: "Result" });
    await result.waitFor(SLOWLY);
    const compare = page.getByRole("button", { name: /^Compare \d+ limits$/ });
    const tried = page.getByRole("button", { name: /^Try \d+: / });
    await compare.or(tried).first().waitFor(SLOWLY);
    if (await compare.isVisible()) await compare.click();
    await tried.first().waitFor(SLOWLY);
    await page.getByText(/^Replaying \d+ of \d+/).waitFor({ state: "hidden", ...SLOWLY });
    await take(page, "what-if", () => result.evaluate((node) => node.scrollIntoView({ block: "start" })));
    const curve = page.getByRole("heading", { name: "Denied share against the limit" });
    await take(page, "what-if-curve", () => curve.evaluate((node) => node.scrollIntoView({ block: "center" })));
}

async function subject(page) {
    const attributes = encodeURIComponent(JSON.stringify({ customer: "umbrella" }));
    await page.goto(`${stack.baseUrl}${home}/subjects?attributes=${attributes}`);
    await heading(page, "customer umbrella");
    // If the burst is over, the next one.
    await page.getByText("0 of 15 left").waitFor({ timeout: TRAFFIC_MS });
    await page.getByRole("figure", { name: "Denials" }).waitFor(SLOWLY);
    await take(page, "subject");
}

async function ruleEditor(page) {
    // Without motion the preview shows the end of its run.
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.goto(`${stack.baseUrl}${home}/rules/${rule.id}/edit`);
    await heading(page, "Edit api-per-customer");
    await page.getByRole("region", { name: "Preview" }).getByRole("img").waitFor(SLOWLY);
    await take(page, "rule-editor");
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
    await take(page, "get-started", () => attempt.evaluate((node) => node.scrollIntoView({ block: "end" })));
}

/** Takes a picture in both themes: NAME.png and NAME-dark.png. */
async function take(page, name, scroll = () => page.evaluate(() => window.scrollTo(0, 0))) {
    await loaded(page);
    for (const [colorScheme, suffix] of [["light", ""], ["dark", "-dark"]]) {
        await page.emulateMedia({ colorScheme });
        await scroll();
        await still(page);
        const path = join(FOLDER, `${name}${suffix}.png`);
        await page.screenshot({ path });
        const { size } = await stat(path);
        assert.ok(size <= BYTES_MAX, `${path} has ${size} bytes`);
    }
    await page.emulateMedia({ colorScheme: "light" });
}

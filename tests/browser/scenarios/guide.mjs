// The guide: search with the keyboard, copy, the contents of a page, the contents on phones, the stored theme, no script.
import { strict as assert } from "node:assert";

import { heading, scenario, stack } from "../steps.mjs";

await scenario("guide", async ({ page, shoot }) => {
    await open(page, "");
    await heading(page, "Weir");
    await shoot("guide");
    await search(page, shoot);
    await copy(page);
    await contentsOfPage(page, shoot);
    await phone(page, shoot);
    await theme(page);
    await withoutScript(page);
});

async function search(page, shoot) {
    const field = page.getByRole("combobox", { name: "Search the guide" });
    const options = page.getByRole("listbox", { name: "Results" }).getByRole("option");
    const chosen = (name) => page.getByRole("option", { selected: true, name });

    await page.keyboard.press("/");
    await page.keyboard.type("rules conditions");
    await chosen("Rules › Conditions").waitFor();
    assert.ok((await options.count()) > 1, "the text of other pages has the word too");
    await shoot("guide-search");
    await field.focus();
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.getByRole("option", { selected: true }).count(), 1);
    assert.equal(await options.nth(1).getAttribute("aria-selected"), "true");
    assert.equal(await field.getAttribute("aria-activedescendant"), await options.nth(1).getAttribute("id"));
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${stack.baseUrl}/guide/rules.html#conditions`);
    await page.getByRole("heading", { name: "Conditions" }).waitFor();

    await page.keyboard.press("Control+k");
    await field.fill("zyzzyva");
    await page.getByText("No results for zyzzyva").waitFor();
    assert.equal(await field.getAttribute("aria-expanded"), "false");
    await page.keyboard.press("Escape");
    await page.getByText("No results for").waitFor({ state: "hidden" });
    assert.equal(await field.inputValue(), "");
    assert.ok(await field.evaluate((node) => node !== document.activeElement), "Escape leaves the field");

    // From a page in a folder, links of the index lead to the right places.
    await open(page, "operate/redis.html");
    await field.fill("weir_tls_cert_file");
    await chosen(/^Settings /).waitFor();
    await field.fill("is this redis suitable?");
    await chosen("Redis › Is this Redis suitable?").click();
    await page.waitForURL(`${stack.baseUrl}/guide/operate/redis.html#is-this-redis-suitable`);
}

async function copy(page) {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await open(page, "rules.html");
    const block = page.locator(".code").first();
    await block.hover();
    await block.getByRole("button", { name: "Copy" }).click();
    await block.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, await block.locator("pre").textContent());
    assert.ok(copied.includes('"namespace"'), copied);
}

async function contentsOfPage(page, shoot) {
    const outline = page.getByRole("navigation", { name: "On this page" });
    const present = outline.locator("[aria-current=location]");
    assert.equal(await present.count(), 0, "no heading is passed yet");
    await outline.getByRole("link", { name: "Schedules" }).click();
    await page.waitForURL(`${stack.baseUrl}/guide/rules.html#schedules`);
    await present.getByText("Schedules").waitFor();
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await present.getByText("Approximate rules").waitFor();
    const contents = page.getByRole("navigation", { name: "Contents" });
    assert.equal(await contents.locator("[aria-current=page]").textContent(), "Rules");
    assert.equal(await contents.locator("details[open] summary").textContent(), "Concepts");
    await page.getByRole("link", { name: "Next" }).click();
    await heading(page, "Overrides");
    const markdown = page.getByRole("link", { name: "This page as Markdown" });
    const source = await page.request.get(await markdown.evaluate((link) => link.href));
    assert.ok((await source.text()).startsWith("# Overrides\n"), "the page as it was written");
    await shoot("guide-page");
}

async function phone(page, shoot) {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(page, "algorithms.html");
    const contents = page.getByRole("navigation", { name: "Contents" });
    await page.getByRole("heading", { level: 1 }).waitFor();
    assert.equal(await contents.count(), 0, "the contents are closed");
    const title = await page.getByRole("heading", { level: 1 }).boundingBox();
    assert.ok(title.y < 200, `the text begins at the top, not at ${title.y}`);
    await page.getByRole("button", { name: "Contents" }).click();
    await contents.getByText("Operate").click();
    await contents.getByRole("link", { name: "Settings" }).waitFor();
    await page.keyboard.press("Escape");
    await contents.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "On this page" }).click();
    const outline = page.getByRole("navigation", { name: "On this page" });
    await outline.getByRole("link", { name: "spacing" }).click();
    await outline.waitFor({ state: "hidden" });
    await page.setViewportSize({ width: 1440, height: 900 });
    await open(page, "performance.html#results");
    const results = page.getByRole("heading", { name: "Results", exact: true });
    await page.waitForFunction(() => scrollY > 0);
    assert.ok((await results.boundingBox()).y < 200, "no other element of the page has the id of the heading");
    await shoot("guide-tables");
}

/** The guide has the theme that the dashboard stored, although the system has another. */
async function theme(page) {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.evaluate(() => localStorage.setItem("weir.theme", "dark"));
    await page.reload();
    assert.notEqual(await ground(), light);
    await page.evaluate(() => localStorage.removeItem("weir.theme"));
}

/** Without its script a page has all but the search, the buttons that copy and the mark of the heading. */
async function withoutScript(page) {
    const script = /\/guide\/guide\.js$/;
    await page.route(script, (route) => route.fulfill({ contentType: "text/javascript", body: "" }));
    await open(page, "operate/metrics.html");
    await page.getByRole("heading", { level: 1 }).waitFor();
    assert.equal(await page.getByRole("combobox").count(), 0, "no search that does nothing");
    await page.getByRole("navigation", { name: "Contents" }).getByText("Start", { exact: true }).click();
    await page.getByRole("link", { name: "A tour" }).click();
    await heading(page, "A tour");
    await page.unrouteAll({ behavior: "wait" });
}

async function open(page, path) {
    await page.goto(`${stack.baseUrl}/guide/${path}`);
}

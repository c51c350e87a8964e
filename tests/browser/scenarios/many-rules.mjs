// 10,000 rules: the list loads quickly, scrolls smoothly, and responds to each letter of the filter. The responses of the
// server are mocked page by page, because only the browser is measured; measure/ten-thousand-rules.mjs creates real rules.
import { strict as assert } from "node:assert";

import { measureList } from "../measure/list.mjs";
import { api, heading, newcomer, signIn, scenario } from "../steps.mjs";

const COUNT = 10_000;
const PAGE = 200;
// Several times the target, because test machines are shared.
const FRAME_MS = 100;
const LETTER_MS = 500;
const owner = await newcomer("hoarder");
const made = await api("POST", `/tenants/${owner.tenant}/rules`, {
    name: "one",
    match: [{ attribute: "route", op: "prefix", value: "/v1/" }],
    count_by: ["user"],
    limits: [
        { algorithm: "fixed_window", limit: 60, window_ms: 60000 },
        { algorithm: "spacing", interval_ms: 10 },
    ],
}, owner);

await scenario("many rules", async ({ page }) => {
    await page.route(/\/rules\?/, (route) => route.fulfill({ json: answer(new URL(route.request().url())) }));
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/rules` });
    await heading(page, "Rules");
    await page.getByText("10000 rules", { exact: true }).or(page.getByText("10,000 rules", { exact: true })).waitFor();
    const { rows, wheel, keystrokes } = await measureList(page, COUNT);
    assert.ok(rows < 100, `${rows} rows exist at once`);
    assert.ok(wheel.median < FRAME_MS, `a frame took ${wheel.median} ms`);
    assert.ok(keystrokes.median < LETTER_MS, `a letter took ${keystrokes.median} ms`);
    const table = page.getByRole("region", { name: "Rules" });
    await page.getByLabel("Filter").fill("space-7 09997");
    await table.getByRole("link", { name: "rule-09997" }).waitFor();
});

/** One page of the list, in the server's format. */
function answer(url) {
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const number = (at) => String(at).padStart(5, "0");
    const rule = (at) => ({ ...made, id: made.id.slice(0, -5) + number(at), name: `rule-${number(at)}`, namespace: `space-${at % 10}` });
    const data = Array.from({ length: Math.min(PAGE, COUNT - from) }, (_, at) => rule(from + at));
    return { data, next_cursor: from + PAGE < COUNT ? String(from + PAGE) : null };
}

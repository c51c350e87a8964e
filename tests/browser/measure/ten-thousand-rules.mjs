// Run by hand: creates rules through the API, 10,000 by default, and measures their list in a browser.
//
//     BASE_URL=… EMAIL=… PASSWORD=… TENANT=… node measure/ten-thousand-rules.mjs [count]
//
// Use a release build: after each change every gate compiles all rules, and a debug build cannot keep up with that many.
import { heading, newcomer, api, signIn, scenario } from "../steps.mjs";
import { measureList } from "./list.mjs";

const count = Number(process.argv[2] ?? 10_000);
const AT_ONCE = 8;
const owner = await newcomer("measurer");
const began = performance.now();
let next = 0;
await Promise.all(Array.from({ length: AT_ONCE }, make));
const took_ms = performance.now() - began;
console.log(`${count} rules made in ${(took_ms / 1000).toFixed(0)} s, ${(took_ms / count).toFixed(1)} ms each`);

await scenario(`${count} rules`, async ({ page }) => {
    await signIn(page, { ...owner, next: `/t/${owner.tenant}/overview` });
    await heading(page, "Overview");
    const asked = performance.now();
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await page.getByLabel("Filter").waitFor({ timeout: 60_000 });
    const began_ms = performance.now() - asked;
    await page.getByText(new RegExp(`^(${count}|${count.toLocaleString("en")}) rules$`)).waitFor({ timeout: 60_000 });
    const whole_ms = performance.now() - asked;
    console.log(`the list began after ${began_ms.toFixed(0)} ms and was whole after ${whole_ms.toFixed(0)} ms`);
    await measureList(page, count);
});

async function make() {
    while (next < count) {
        const at = next++;
        await api("POST", `/tenants/${owner.tenant}/rules`, rule(at), owner);
    }
}

function rule(at) {
    return {
        namespace: `space-${at % 20}`,
        name: `rule-${String(at).padStart(5, "0")}`,
        match: [{ attribute: "route", op: "prefix", value: `/v${at}/` }],
        count_by: ["user"],
        limits: [{ algorithm: "fixed_window", limit: at + 1, window_ms: 60000 }],
    };
}

// A concurrency limit: its form and preview in the rule editor, and its places on the page of a subject.
import { check, api, fresh, heading, newcomer, publish, signIn, stack, scenario } from "../steps.mjs";

const owner = await newcomer("exporter");
const home = `/t/${owner.tenant}`;
const name = `exports-${fresh}`;
const { secret } = await api("POST", `/tenants/${owner.tenant}/keys`, { name: "k", scopes: ["check"] }, owner);
const LATER = { timeout: 30_000 };

await scenario("concurrency", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `${home}/rules/new` });
    await heading(page, "New rule");
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Count by").fill("customer");
    await edit(page, shoot);
    await publish(page);
    await heading(page, name);
    await page.getByText(/^live on 2 of 2 gates/).waitFor();
    const leases = await places();
    await subject(page, shoot, leases);
});

async function edit(page, shoot) {
    const limit = page.getByRole("group", { name: "Limit" });
    const preview = page.getByRole("region", { name: "Preview" });
    await limit.getByLabel("Algorithm").selectOption({ label: "Concurrency" });
    const capacity = limit.getByRole("textbox", { name: "At the same time", exact: true });
    await capacity.fill("2000");
    await page.getByText("must be from 1 to 1000 for concurrency, which stores each open lease").first().waitFor();
    await preview.getByText("The preview appears when the limits are valid.").waitFor();
    await capacity.fill("2");
    await page.getByText(/for each customer: 2 at the same time, for up to .* each/).first().waitFor();
    await preview.getByRole("img").waitFor();
    await preview.getByText("If no lease is released: a released one admits the next request at once.").waitFor();
    await shoot("concurrency-editor");
}

/** Two checks take both places, and the third is denied. Returns the leases. */
async function places() {
    const leases = [];
    for (const allowed of [true, true, false]) {
        const answer = await check(stack.gates[0], secret, { attributes: { customer: "c-17" } });
        if (answer.allowed !== allowed) throw new Error(`a check was ${JSON.stringify(answer)}`);
        leases.push(...(answer.leases ?? []));
    }
    return leases;
}

async function subject(page, shoot, [first]) {
    await page.goto(new URL(`${home}/subjects?attributes=${encodeURIComponent('{"customer":"c-17"}')}`, page.url()).href);
    await heading(page, "customer c-17");
    const card = page.getByRole("article", { name: `${name} in default` });
    await card.getByText("0 of 2 left").waitFor(LATER);
    await card.getByText(/^, leases of /).waitFor();
    await shoot("concurrency-subject");
    const released = await fetch(`${stack.gates[1]}/release`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify({ lease: first.id }),
    });
    if (!released.ok) throw new Error(`release: ${released.status} ${await released.text()}`);
    await card.getByText("1 of 2 left").waitFor(LATER);
}

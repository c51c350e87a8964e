// A rule with approximate leases: the refusal of a limit that has none, its summary with the bound, and the rule in the list.
import { fresh, heading, newcomer, publish, signIn, scenario } from "../steps.mjs";

const owner = await newcomer("approximate");
const home = `/t/${owner.tenant}`;
const name = `searches-${fresh}`;
const BOUND = "Approximate: each gate holds up to 50 units, and all gates together can exceed the limit by what they hold.";

await scenario("approximate", async ({ page, shoot }) => {
    await signIn(page, { ...owner, next: `${home}/rules/new` });
    await heading(page, "New rule");
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Count by").fill("user");
    await edit(page, shoot);
    await review(page, shoot);
    await published(page, shoot);
    await listed(page, shoot);
});

async function edit(page, shoot) {
    const limit = page.getByRole("group", { name: "Limit" });
    const algorithm = limit.getByLabel("Algorithm");
    await page.getByLabel("Consistency").selectOption({ label: "Approximate: leases of a bucket or sliding counter, within a bound" });
    await page.getByText("so near the limit as much less can pass; never more.").waitFor();
    await algorithm.selectOption({ label: "Fixed window" });
    await page.getByText("whose leases never exceed it").first().waitFor();
    await shoot("approximate-refused");
    await algorithm.selectOption({ label: "Token bucket" });
    const capacity = limit.getByRole("textbox", { name: "Capacity", exact: true });
    await capacity.fill("99");
    await page.getByText("Approximate: a limit below 100 is too small for leases, so Redis decides every request.").waitFor();
    await capacity.fill("5000");
    await page.getByText(BOUND).waitFor();
    await page.getByRole("region", { name: "Preview" }).getByRole("img").waitFor();
    await shoot("approximate-editor");
}

async function review(page, shoot) {
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog", { name: "Review changes" });
    await dialog.getByText(BOUND).waitFor();
    await shoot("approximate-review");
    await dialog.getByRole("button", { name: "Back to editing" }).click();
    await publish(page);
}

async function published(page, shoot) {
    await heading(page, name);
    await page.getByText(/^live on 2 of 2 gates/).waitFor();
    await page.getByText(BOUND).waitFor();
    await shoot("approximate-rule");
}

async function listed(page, shoot) {
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    const row = page.getByRole("row").filter({ has: page.getByRole("link", { name }) });
    await row.getByText("Bursts of 5,000").first().waitFor();
    await shoot("approximate-list");
}

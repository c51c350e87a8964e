// Single keys filter, create and list the keys, until somebody switches them off.
import { strict as assert } from "node:assert";

import { heading, signIn, stack, scenario } from "../steps.mjs";

await scenario("shortcuts", async ({ page, shoot }) => {
    await signIn(page, { next: `/t/${stack.tenant}/overview` });
    await heading(page, "Overview");
    const list = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await page.keyboard.press("?");
    await list.getByText("Next row of a table").waitFor();
    await shoot("shortcuts");
    await page.keyboard.press("Escape");
    await list.getByText("Next row of a table").waitFor({ state: "detached" });

    // The overview has no filter.
    await page.keyboard.press("/");
    await page.getByRole("dialog", { name: "Search" }).getByRole("combobox").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Search" }).waitFor({ state: "hidden" });

    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await heading(page, "Rules");
    const filter = page.getByRole("searchbox", { name: "Filter" });
    await filter.waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("c/?");
    assert.equal(await filter.inputValue(), "c/?", "keys in a field are text");
    await filter.fill("");
    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("c");
    await heading(page, "New rule");

    await page.keyboard.press("?");
    await list.getByRole("checkbox").uncheck();
    await list.getByRole("button", { name: "Close" }).click();
    await page.goto(`${stack.baseUrl}/t/${stack.tenant}/rules`);
    await filter.waitFor();
    for (const key of ["?", "c", "/"]) await page.keyboard.press(key);
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Search" }).getByRole("combobox").waitFor();
    assert.equal(await filter.inputValue(), "");
    assert.ok(await list.isHidden());
    await heading(page, "Rules");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Search" }).waitFor({ state: "hidden" });

    await page.getByRole("button", { name: "(account)" }).click();
    await page.getByRole("menuitem", { name: "Keyboard shortcuts" }).click();
    await list.getByRole("checkbox").check();
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "hidden" });
    // The focus can return to the item of the menu, whose keys are its own.
    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("c");
    await heading(page, "New rule");
});

// Sign-up: problems at their fields, one account per address, and the notice where sign-up is closed.
import { fresh, heading, newcomer, stack, scenario } from "../steps.mjs";

const existing = await newcomer("known");

await scenario("sign-up", async ({ page, shoot }) => {
    await closed(page, shoot);
    await page.goto(`${stack.baseUrl}/sign-in`);
    await page.getByRole("link", { name: "Sign up" }).click();
    await heading(page, "Sign up");
    await refused(page, shoot);
    await taken(page);
    await page.getByLabel("E-mail").fill(`fresh-${fresh}@example.com`);
    await page.getByRole("button", { name: "Sign up" }).click();
    await heading(page, "Get started");
});

async function closed(page, shoot) {
    const body = JSON.stringify({ signup_open: false });
    const options = /\/auth\/options$/;
    await page.route(options, (route) => route.fulfill({ status: 200, contentType: "application/json", body }));
    await page.goto(`${stack.baseUrl}/sign-up`);
    await page.getByText("Sign-up is by invitation only").waitFor();
    await shoot("sign-up-closed");
    await page.unroute(options);
}

/** The server's message is shown at the field, which receives focus. */
async function refused(page, shoot) {
    page.expectFault(/status 422: POST .*\/auth\/signup/);
    page.expectFault(/console: Failed to load resource.*422/);
    await page.getByLabel("E-mail").fill(existing.email);
    await page.getByLabel("Password").fill("password");
    await page.getByLabel("Tenant name").fill("Acme");
    await page.getByRole("button", { name: "Sign up" }).click();
    await page.getByText("is too common").waitFor();
    await page.waitForFunction(() => document.activeElement?.type === "password");
    await shoot("sign-up");
}

async function taken(page) {
    page.expectFault(/status 409: POST .*\/auth\/signup/);
    page.expectFault(/console: Failed to load resource.*409/);
    await page.getByLabel("Password").fill("correct horse staple");
    await page.getByRole("button", { name: "Sign up" }).click();
    await page.getByRole("alert").waitFor();
}

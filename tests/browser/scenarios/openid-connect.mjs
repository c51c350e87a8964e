// Signing in with the OpenID Connect provider: the account of the address, the way back to the requested page, and a refusal.
import { heading, newcomer, scenario, signOut, stack } from "../steps.mjs";

const person = await newcomer("federated");

await scenario("openid connect", async ({ page, shoot }) => {
    await page.goto(`${stack.baseUrl}/sign-in?next=${encodeURIComponent(`/t/${person.tenant}/members`)}`);
    await page.getByRole("link", { name: "Continue with Example ID" }).waitFor();
    await shoot("sign-in-provider");
    await atProvider(page, person.email.split("@")[0]);
    await heading(page, "Members");
    await page.getByRole("row", { name: person.email }).getByText("(you)").waitFor();
    await signOut(page);
    await page.goto(`${stack.baseUrl}/sign-in?problem=no_account`);
    await page.getByText("There is no account for your e-mail address.").waitFor();
    await shoot("sign-in-refused");
});

/** The provider asks for the account. */
async function atProvider(page, name) {
    page.expectFault(/request to another host: http:\/\/127\.0\.0\.1:\d+\/(auth|interaction)/);
    await page.getByRole("link", { name: "Continue with Example ID" }).click();
    await page.getByLabel("Account").fill(name);
    await page.getByRole("button", { name: "Continue" }).click();
}

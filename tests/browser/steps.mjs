// Steps that scenarios share.
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { still, withBrowser } from "./browser.mjs";

export { still };

/** The stack under test, from the environment. */
export const stack = {
    baseUrl: needed("BASE_URL"),
    email: needed("EMAIL"),
    password: needed("PASSWORD"),
    tenant: needed("TENANT"),
    gates: (process.env.GATES ?? "").split(",").filter(Boolean),
};

/** Runs a scenario in a fresh browser profile. Screenshots go to the folder SCREENSHOTS, if it is set. */
export async function scenario(name, run, { density } = {}) {
    const screenshots = process.env.SCREENSHOTS;
    if (screenshots) await mkdir(screenshots, { recursive: true });
    const hosts = stack.gates.map((gate) => new URL(gate).host);
    await withBrowser({ baseUrl: stack.baseUrl, hosts, screenshots, density }, run);
    console.log(`${name}: passed`);
}

/** Signs in; `next` is the path of the page to continue to. */
export async function signIn(page, { email, password, next } = {}) {
    const query = next ? `?next=${encodeURIComponent(next)}` : "";
    await page.goto(`${stack.baseUrl}/sign-in${query}`);
    await heading(page, "Sign in");
    await page.getByLabel("E-mail").fill(email ?? stack.email);
    await page.getByLabel("Password").fill(password ?? stack.password);
    await page.getByRole("button", { name: "Sign in" }).click();
}

/** Waits for the page with this heading. */
export async function heading(page, name) {
    await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

/** Signs out through the menu of the account. */
export async function signOut(page) {
    await page.getByRole("button", { name: "(account)" }).click();
    // The pages ask for news at all times, and what they ask while the session ends would be refused. So new requests wait, and
    // those before them are answered first.
    const news = /\/api\/v1\/tenants\//;
    const held = new Set();
    await page.route(news, (route) => held.add(route.request()));
    const sent = (await page.requests()).filter((request) => news.test(request.url()) && !held.has(request));
    await Promise.all(sent.map((request) => request.response()));
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await heading(page, "Sign in");
    await page.unroute(news);
}

/** Visits each page of the navigation, and calls `visit` once the page has loaded. */
export async function walk(page, visit) {
    const links = page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link");
    const more = page.getByRole("button", { name: "More", exact: true });
    // In narrow windows the navigation is behind a button.
    const open = async () => ((await more.isVisible()) ? more.click() : undefined);
    await page.getByRole("complementary").waitFor();
    await open();
    await links.first().waitFor();
    const names = await links.locator(".icon + span").allTextContents();
    for (const [at, name] of names.entries()) {
        if (at > 0) await open();
        await links.getByText(name, { exact: true }).click();
        await heading(page, name);
        await loaded(page);
        await visit(name);
    }
}

/** Waits until the page has no loading state. */
export async function loaded(page) {
    await page.getByRole("status", { name: "Loading" }).first().waitFor({ state: "detached" });
}

/** Calls the admin API to prepare data, by default as the first person of the stack. */
export async function api(method, path, body, { email, password, ifMatch } = {}) {
    const token = await accessToken(email ?? stack.email, password ?? stack.password);
    const headers = { authorization: `Bearer ${token}` };
    if (ifMatch !== undefined) headers["if-match"] = `"${ifMatch}"`;
    if (body !== undefined) headers["content-type"] = "application/json";
    const answer = await fetch(`${stack.baseUrl}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
}

/** Signs up a new person with a tenant. */
export async function newcomer(name, tenantName = `Tenant of ${name}`) {
    return signUp(name, { tenant_name: tenantName });
}

/** Adds a new person to the tenant of `owner`. */
export async function colleague(owner, name, role) {
    const invite = { email: address(name), role };
    const { token } = await api("POST", `/tenants/${owner.tenant}/invitations`, invite, owner);
    return signUp(name, { invitation: token });
}

/** Gives a person the rights of an operator, with the command for operators of Weir. */
export async function makeOperator({ email }) {
    const env = { ...process.env, WEIR_DATABASE_URL: needed("DATABASE_URL") };
    await promisify(execFile)(needed("WEIR_BIN"), ["user", "operator", "--email", email], { env });
}

/** Runs a statement as the owner of the database. */
export async function runSql(statement) {
    await promisify(execFile)(needed("PSQL"), [needed("DATABASE_URL"), "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--command", statement]);
}

async function signUp(name, fields) {
    const person = { email: address(name), password: "correct horse staple" };
    const answer = await fetch(`${stack.baseUrl}/api/v1/auth/signup`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...person, ...fields }),
    });
    if (!answer.ok) throw new Error(`sign up of ${person.email}: ${answer.status} ${await answer.text()}`);
    const { access_token: token, tenant } = await answer.json();
    tokens.set(person.email, token);
    return { ...person, tenant: tenant.id };
}

function address(name) {
    return `${name}-${fresh}@example.com`;
}

/** Publishes the rule in the editor, after its review. */
export async function publish(page) {
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByRole("dialog", { name: "Review changes" }).getByRole("button", { name: "Publish" }).click();
}

/** Opens the menu of a card, and chooses an item. */
export async function change(page, card, item) {
    await card.getByRole("button", { name: /^Actions for / }).click();
    await page.getByRole("menuitem", { name: item }).click();
}

/** Sends a check to a gate with an API key, once every gate serves the current rulebook. */
export async function check(gate, secret, body) {
    await eventually("the gates serve the current rulebook", rulebookIsLive);
    const answer = await fetch(`${gate}/check`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify(body),
    });
    if (!answer.ok && answer.status !== 429) throw new Error(`check at ${gate}: ${answer.status} ${await answer.text()}`);
    return answer.json();
}

/** Polls a condition until it holds. */
export async function eventually(what, holds) {
    const ends = Date.now() + 20_000;
    while (!(await holds())) if (Date.now() > ends) throw new Error(`timed out: ${what}`);
}

async function rulebookIsLive() {
    const { rulebook_version: saved, data } = await api("GET", `/tenants/${stack.tenant}/replicas`);
    return data.length > 0 && data.every(({ rulebook_version: served }) => served >= saved);
}

/** Waits for an e-mail to an address, and returns the newest one. */
export async function letterTo(email) {
    const folder = needed("LETTERS");
    let letter;
    await eventually(`an e-mail to ${email}`, async () => {
        const files = (await readdir(folder)).filter((name) => name.endsWith(".json")).sort();
        const letters = files.map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8")));
        letter = (await Promise.all(letters)).filter(({ recipients }) => recipients.includes(email)).at(-1);
        return letter;
    });
    return letter;
}

/** A suffix that is unique to this run. */
export const fresh = Date.now().toString(36);

const tokens = new Map();

async function accessToken(email, password) {
    if (!tokens.has(email)) {
        const answer = await fetch(`${stack.baseUrl}/api/v1/auth/login`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ email, password }),
        });
        if (!answer.ok) throw new Error(`sign in of ${email}: ${answer.status} ${await answer.text()}`);
        tokens.set(email, (await answer.json()).access_token);
    }
    return tokens.get(email);
}

function needed(name) {
    const value = process.env[name];
    if (!value) {
        console.error(`${name} is not set`);
        process.exit(2);
    }
    return value.replace(/\/$/, "");
}

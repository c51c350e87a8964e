// What stories do again and again.
import { mkdir } from "node:fs/promises";

import { withBrowser } from "./browser.mjs";

/** Where the stack is: set by whoever runs the stories. */
export const stack = {
    baseUrl: needed("BASE_URL"),
    email: needed("EMAIL"),
    password: needed("PASSWORD"),
    tenant: needed("TENANT"),
    gates: (process.env.GATES ?? "").split(",").filter(Boolean),
};

/** Tells a story in a fresh browser; pictures of its pages go to the folder SCREENSHOTS, if that is set. */
export async function tell(name, story) {
    const screenshots = process.env.SCREENSHOTS;
    if (screenshots) await mkdir(screenshots, { recursive: true });
    const hosts = stack.gates.map((gate) => new URL(gate).host);
    await withBrowser({ baseUrl: stack.baseUrl, hosts, screenshots }, story);
    console.log(`${name}: told without a fault`);
}

/** From nothing to the page after signing in; `next` is an address on the dashboard. */
export async function signIn(page, { email, password, next } = {}) {
    const query = next ? `?next=${encodeURIComponent(next)}` : "";
    await page.goto(`${stack.baseUrl}/sign-in${query}`);
    await heading(page, "Sign in");
    await page.getByLabel("E-mail").fill(email ?? stack.email);
    await page.getByLabel("Password").fill(password ?? stack.password);
    await page.getByRole("button", { name: "Sign in" }).click();
}

/** Waits for the page with this title. */
export async function heading(page, name) {
    await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

/** Goes to each page of the navigation, and on once it has loaded. */
export async function walk(page, look) {
    const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    await links.first().waitFor();
    for (const name of await links.allTextContents()) {
        await links.getByText(name, { exact: true }).click();
        await heading(page, name);
        await loaded(page);
        await look(name);
    }
}

/** Waits until nothing of the page is on its way. */
export async function loaded(page) {
    await page.getByRole("status", { name: "Loading" }).first().waitFor({ state: "detached" });
}

/** Calls the admin API as the person of the stack: to prepare what a story is about. */
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

/** Signs somebody new up, with a tenant of their own. */
export async function newcomer(name, tenantName = `Tenant of ${name}`) {
    return signUp(name, { tenant_name: tenantName });
}

/** Brings somebody new into the tenant of `owner`. */
export async function colleague(owner, name, role) {
    const invite = { email: address(name), role };
    const { token } = await api("POST", `/tenants/${owner.tenant}/invitations`, invite, owner);
    return signUp(name, { invitation: token });
}

async function signUp(name, how) {
    const person = { email: address(name), password: "correct horse staple" };
    const answer = await fetch(`${stack.baseUrl}/api/v1/auth/signup`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...person, ...how }),
    });
    if (!answer.ok) throw new Error(`sign up of ${person.email}: ${answer.status} ${await answer.text()}`);
    const { access_token: token, tenant } = await answer.json();
    tokens.set(person.email, token);
    return { ...person, tenant: tenant.id };
}

function address(name) {
    return `${name}-${fresh}@example.com`;
}

/** A check at a gate with an API key, as a program sends it; sent once every gate serves what has been saved. */
export async function check(gate, secret, body) {
    await eventually("the gates serve what has been saved", inForce);
    const answer = await fetch(`${gate}/check`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify(body),
    });
    if (!answer.ok && answer.status !== 429) throw new Error(`check at ${gate}: ${answer.status} ${await answer.text()}`);
    return answer.json();
}

/** Asks again and again until it holds. */
export async function eventually(what, holds) {
    const ends = Date.now() + 20_000;
    while (!(await holds())) if (Date.now() > ends) throw new Error(`waited in vain: ${what}`);
}

async function inForce() {
    const { rulebook_version: saved, data } = await api("GET", `/tenants/${stack.tenant}/replicas`);
    return data.length > 0 && data.every(({ rulebook_version: served }) => served >= saved);
}

/** A word that no other run used. */
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


// The API reference: languages, copies, search, the reader's addresses, and calls.
const LANGUAGES = { curl: "curl", python: "Python", typescript: "TypeScript", go: "Go", rust: "Rust" };
const root = document.documentElement;
const language = localStorage.getItem("weir.language");
// Before the first paint, so that samples in other languages are never shown.
root.dataset.language = language in LANGUAGES ? language : "curl";

document.addEventListener("DOMContentLoaded", () => {
    addLanguages();
    addCopying();
    addSearch();
    markPresent();
    addAddresses();
    for (const form of document.querySelectorAll(".try form")) addForm(form);
});

function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
}

function addLanguages() {
    for (const samples of document.querySelectorAll(".samples")) {
        const buttons = Object.entries(LANGUAGES).map(([id, name]) => {
            const button = element("button", { type: "button", textContent: name });
            button.dataset.choose = id;
            return button;
        });
        const tabs = element("div", { className: "tabs", role: "group", ariaLabel: "Language" }, ...buttons);
        samples.prepend(tabs);
    }
    const choose = (id) => {
        root.dataset.language = id;
        for (const button of document.querySelectorAll("[data-choose]")) button.ariaPressed = button.dataset.choose === id;
    };
    choose(root.dataset.language);
    document.addEventListener("click", ({ target }) => {
        const id = target.dataset?.choose;
        if (!id) return;
        // The operation stays where it is, although the samples above it have other heights.
        const before = target.getBoundingClientRect().top;
        choose(id);
        localStorage.setItem("weir.language", id);
        window.scrollBy(0, target.getBoundingClientRect().top - before);
    });
}

function addCopying() {
    // Browsers offer the clipboard only to pages that came over HTTPS or from this machine.
    if (!navigator.clipboard) return;
    for (const samples of document.querySelectorAll(".samples")) {
        const button = element("button", { type: "button", className: "copy", textContent: "Copy" });
        button.addEventListener("click", async () => {
            const shown = samples.querySelector(`figure[data-language="${root.dataset.language}"] pre`);
            await navigator.clipboard.writeText(shown.textContent);
            button.textContent = "Copied";
            setTimeout(() => (button.textContent = "Copy"), 2000);
        });
        samples.querySelector(".tabs").append(button);
    }
}

function addSearch() {
    const all = document.querySelector("#contents > details");
    const field = all.querySelector("[type=search]");
    const groups = [...all.querySelectorAll("details")].map((group) => ({ group, wasOpen: group.open }));
    const wide = matchMedia("(min-width: 900px)");
    all.open = wide.matches;
    wide.addEventListener("change", () => (all.open = wide.matches));
    field.addEventListener("input", () => {
        const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
        let found = 0;
        for (const { group, wasOpen } of groups) {
            const items = [...group.querySelectorAll("li")];
            for (const item of items) {
                const text = `${item.dataset.find} ${item.textContent}`.toLowerCase();
                item.hidden = !words.every((word) => text.includes(word));
            }
            const some = items.some((item) => !item.hidden);
            found += some;
            group.hidden = !some;
            group.open = words.length > 0 || wasOpen;
        }
        all.querySelector(".nothing").hidden = found > 0;
    });
    field.addEventListener("keydown", ({ key }) => {
        if (key === "Enter") all.querySelector("li:not([hidden]) a")?.click();
    });
    document.addEventListener("keydown", (event) => {
        if (event.key !== "/" || event.target.matches("input, textarea")) return;
        event.preventDefault();
        all.open = true;
        field.focus();
    });
}

/** Marks the operation at the top of the window in the list. */
function markPresent() {
    const links = new Map([...document.querySelectorAll('#contents a[href^="#"]')].map((link) => [link.hash.slice(1), link]));
    const observer = new IntersectionObserver(
        (changes) => {
            for (const { target, isIntersecting } of changes) {
                if (!isIntersecting) continue;
                for (const link of links.values()) link.removeAttribute("aria-current");
                links.get(target.id)?.setAttribute("aria-current", "true");
            }
        },
        { rootMargin: "-10% 0px -85% 0px" },
    );
    for (const section of document.querySelectorAll(".operation")) observer.observe(section);
}

/** The fields at the top of the page, by name. */
const yours = () => document.getElementById("yours").elements;
/** The gates that pages of this control plane can call. */
let gates = [];

async function addAddresses() {
    const fields = yours();
    const stored = {
        gate: [localStorage, "weir.reference.gate"],
        control: [localStorage, "weir.reference.control"],
        tenant: [localStorage, "weir.reference.tenant"],
        key: [sessionStorage, "weir.reference.key"],
    };
    for (const [name, [storage, key]] of Object.entries(stored)) {
        const field = fields[name];
        field.value = storage.getItem(key) ?? "";
        field.addEventListener("input", () => {
            storage.setItem(key, field.value.trim());
            fillAddress(name);
        });
    }
    fields.control.value ||= location.origin;
    // The tenant that the dashboard showed last.
    fields.tenant.value ||= localStorage.getItem("weir.tenant") ?? "";
    for (const name of ["control", "tenant"]) fillAddress(name);
    gates = await fetch("/docs/gates.json").then((answer) => (answer.ok ? answer.json() : []));
    fields.gate.value ||= gates[0] ?? "http://localhost:8081";
    fillAddress("gate");
}

/** Puts the value of a field into the samples. */
function fillAddress(name) {
    if (name === "key") return;
    const value = yours()[name].value.trim();
    if (name === "tenant") {
        if (value) fill(document, name, encodeURIComponent(value));
    } else if (URL.canParse(value)) {
        fill(document, name, new URL(value).href.replace(/\/$/, ""));
    }
    for (const form of document.querySelectorAll(".try form")) explain(form);
}

function fill(scope, name, value) {
    for (const place of scope.querySelectorAll(`[data-fill="${CSS.escape(name)}"]`)) place.textContent = value;
}

function addForm(form) {
    const section = form.closest(".operation");
    for (const field of form.querySelectorAll("[data-place]")) {
        field.addEventListener("input", () => {
            const value = field.dataset.place === "header" ? field.value : encodeURIComponent(field.value);
            if (field.value) fill(section, field.name, value);
        });
    }
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        const { method, path } = form.dataset;
        if (method === "DELETE" && !confirm(`Send DELETE ${path}?`)) return;
        const button = form.querySelector("button");
        button.disabled = true;
        await send(form).catch((error) => show(form, "No answer", false, [], error.message));
        button.disabled = false;
    });
    explain(form);
}

/** Says beside the button if the browser would refuse the call. */
function explain(form) {
    const hint = form.querySelector(".hint");
    const address = yours()[form.dataset.plane].value.trim();
    const origin = URL.canParse(address) ? new URL(address).origin : "";
    if (form.dataset.plane === "control") {
        hint.textContent = origin === location.origin ? "" : `This page can only call its own control plane, ${location.origin}.`;
    } else if (gates.includes(origin) || origin === location.origin) {
        hint.textContent = "";
    } else {
        const known = gates.length > 0 ? ` It names ${gates.join(", ")}.` : "";
        hint.textContent = `Browsers refuse this call unless WEIR_GATE_ORIGINS of the control plane names the gate, and WEIR_DASHBOARD_ORIGINS of the gate names ${location.origin}.${known}`;
    }
}

async function send(form) {
    const { plane, method, credentials } = form.dataset;
    const headers = {};
    if (credentials !== undefined) headers.authorization = `Bearer ${await credential(plane)}`;
    const tenant = yours().tenant.value.trim();
    if (form.dataset.path.includes("{tenant}") && !tenant) throw new Error("Enter the id of a tenant at the top of the page.");
    let path = form.dataset.path.replace("{tenant}", encodeURIComponent(tenant));
    const query = new URLSearchParams();
    for (const { name, value, dataset } of form.querySelectorAll("[data-place]")) {
        if (!value) continue;
        if (dataset.place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
        if (dataset.place === "query") query.set(name, value);
        if (dataset.place === "header") headers[name] = value;
    }
    const body = form.elements.body?.value;
    if (body !== undefined) headers["content-type"] = "application/json";
    const asked = query.size > 0 ? `?${query}` : "";
    const url = yours()[plane].value.trim().replace(/\/$/, "") + path + asked;
    const answer = await fetch(url, { method, headers, body, credentials: plane === "gate" ? "omit" : "same-origin" });
    const matter = [...answer.headers].filter(([name]) => /ratelimit|^(retry-after|etag|location|x-request-id)$/.test(name));
    const status = `${answer.status} ${answer.statusText}`.trim();
    const reader = answer.body?.getReader();
    const decoder = new TextDecoder();
    let text = "";
    show(form, status, answer.ok, matter, text);
    // A stream is shown while it arrives.
    for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
        text += decoder.decode(part.value, { stream: true });
        show(form, status, answer.ok, matter, text);
    }
    show(form, status, answer.ok, matter, indented(text));
}

function indented(text) {
    try {
        return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
        return text;
    }
}

function show(form, status, good, headers, text) {
    const list = headers.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
    form.querySelector(".answer").replaceChildren(
        element("p", { className: good ? "good" : "bad" }, status),
        ...(list.length > 0 ? [element("dl", {}, ...list)] : []),
        ...(text ? [element("pre", { tabIndex: 0 }, text)] : []),
    );
}

let session = null;

/** The key, or an access token of the dashboard's session, which only this page's memory has. */
async function credential(plane) {
    const key = yours().key.value.trim();
    if (key) return key;
    if (plane === "gate") throw new Error("Gates need an API key: enter one at the top of the page.");
    if (session && session.expires > Date.now()) return session.token;
    const signedIn = localStorage.getItem("weir.signed-in");
    const answer = signedIn && (await fetch("/api/v1/auth/refresh", { method: "POST" }));
    if (!answer?.ok) throw new Error("Enter an API key at the top of the page, or sign in to the dashboard.");
    const { access_token: token, expires_in_s: seconds } = await answer.json();
    session = { token, expires: Date.now() + (seconds - 10) * 1000 };
    return token;
}

// The page of a customer: reads the token behind the # of its address, and shows the usage in the tenant's name and colour.
import "/weir-usage.js";

const part = (id) => document.getElementById(id);
let token = "";
let call = 0;

/** The token leaves the address, so that it is neither in the history nor in a copied link. */
function takeToken() {
    if (location.hash.length <= 1) return false;
    token = location.hash.slice(1);
    history.replaceState(null, "", location.pathname + location.search);
    return true;
}

async function load() {
    const current = ++call;
    if (!token.startsWith("view_")) return say(openAgain("This page needs a link with access to your usage."));
    say("Loading…");
    try {
        const response = await fetch("/api/v1/view", {
            headers: { authorization: `Bearer ${token}` },
            credentials: "omit",
            cache: "no-store",
        });
        if (current !== call) return;
        if (response.status === 401) return say(openAgain("This link has expired."));
        if (!response.ok) throw new Error(`status ${response.status}`);
        const view = await response.json();
        if (current === call) show(view);
    } catch {
        if (current !== call) return;
        say("Your usage could not be loaded.");
        part("again").hidden = false;
    }
}

function openAgain(reason, site = "the site that you came from") {
    return `${reason} Open the link in ${site} again.`;
}

function say(text) {
    const message = document.createElement("p");
    message.setAttribute("role", "status");
    message.textContent = text;
    part("usage").replaceChildren(message);
    part("again").hidden = true;
}

function show({ customer, title, color, logo, gates }) {
    document.title = `Usage · ${title}`;
    part("title").textContent = title;
    part("customer").textContent = `Usage of ${customer}`;
    part("customer").hidden = false;
    part("logo").hidden = !logo?.startsWith("data:image/");
    if (!part("logo").hidden) part("logo").src = logo;
    if (color && CSS.supports("color", color)) document.documentElement.style.setProperty("--brand", color);
    if (gates.length === 0) return say("Your usage cannot be shown at present.");
    const usage = document.createElement("weir-usage");
    const expired = document.createElement("span");
    expired.slot = "expired";
    expired.textContent = openAgain("This link has expired.", title);
    usage.append(expired);
    for (const [name, value] of Object.entries({ gate: gates[0], token, color })) if (value) usage.setAttribute(name, value);
    part("usage").replaceChildren(usage);
}

part("again").addEventListener("click", load);
addEventListener("hashchange", () => takeToken() && load());
takeToken();
load();

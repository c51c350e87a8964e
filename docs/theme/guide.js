// Search, buttons that copy, and the mark of the present heading. The pages work without this script.
const guide = new URL(".", import.meta.url);
const RESULTS_MAX = 12;

// Search

const form = document.querySelector("[role=search]");
const field = form.querySelector("input");
const found = form.querySelector(".found");
const list = form.querySelector("[role=listbox]");
const status = form.querySelector("[role=status]");
let index;
form.hidden = false;

field.addEventListener("focus", () => (index ??= fetchIndex()));
field.addEventListener("input", show);
field.addEventListener("focus", show);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("focusout", (event) => form.contains(event.relatedTarget) || close());
form.addEventListener("mousedown", (event) => event.target.closest("a") && event.preventDefault());
list.addEventListener("click", close);
document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    const slash = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (slash || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
        event.preventDefault();
        field.select();
        field.focus();
    }
});
field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
        field.value = "";
        field.blur();
    } else if (event.key === "Enter") {
        list.querySelector("[aria-selected=true]")?.click();
    } else if (step && list.children.length > 0) {
        event.preventDefault();
        const options = [...list.children];
        const at = options.findIndex((option) => option.ariaSelected === "true");
        choose(options.at((at + step) % options.length));
    }
});

async function fetchIndex() {
    try {
        const response = await fetch(new URL("search.json", guide));
        if (!response.ok) throw new Error(`status ${response.status}`);
        return await response.json();
    } catch {
        index = undefined;
        return null;
    }
}

async function show() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const asked = field.value;
    const entries = words.length > 0 && (await (index ??= fetchIndex()));
    if (field.value !== asked || document.activeElement !== field) return;
    const ranked = (entries || [])
        .map((entry) => ({ entry, score: score(entry, words) }))
        .filter(({ score }) => score > 0)
        .sort((one, other) => other.score - one.score);
    list.replaceChildren(...ranked.slice(0, RESULTS_MAX).map(({ entry }, at) => option(entry, words, at)));
    status.textContent =
        entries === null ? "The search could not be loaded." : ranked.length === 0 ? `No results for ${asked.trim()}` : "";
    found.hidden = words.length === 0;
    field.ariaExpanded = String(list.children.length > 0);
    choose(list.firstElementChild);
}

/** Zero unless each word occurs. A heading counts more than the title of its page, and that more than the text. */
function score({ page, heading, text }, words) {
    const places = [[heading || page, 40], [heading && page, 15], [text, 5]];
    const lower = places.map(([place, weight]) => [place.toLowerCase(), weight]);
    const points = words.map((word) => lower.reduce((sum, [place, weight]) => sum + weight * match(place, word), 0));
    if (points.includes(0)) return 0;
    const asked = words.join(" ");
    const isName = lower[0][0] === asked || `${lower[1][0]} ${lower[0][0]}` === asked;
    return points.reduce((sum, point) => sum + point) + (isName ? 100 : 0);
}

/** 2 for the beginning of a word, 1 for another part of one. */
function match(place, word) {
    let at = place.indexOf(word);
    if (at < 0) return 0;
    for (; at >= 0; at = place.indexOf(word, at + 1)) {
        if (at === 0 || !/[\p{L}\p{N}]/u.test(place[at - 1])) return 2;
    }
    return 1;
}

function option({ address, page, heading, text }, words, at) {
    const option = document.createElement("a");
    Object.assign(option, { id: `Result-${at}`, role: "option", tabIndex: -1, href: new URL(address, guide) });
    const where = document.createElement("span");
    where.append(...marked(excerpt(text, words), words));
    option.append(...marked(heading ? `${page} › ${heading}` : page, words), where);
    return option;
}

/** About 120 characters of the text, around the first word that occurs. */
function excerpt(text, words) {
    const first = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0);
    const at = Math.max(0, Math.min(...first, text.length) - 40);
    const from = at === 0 || first.length === 0 ? 0 : text.indexOf(" ", at) + 1;
    const to = text.length > from + 120 ? Math.max(from + 60, text.lastIndexOf(" ", from + 120)) : text.length;
    return (from > 0 ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
}

/** The text in parts, with each occurrence of a word in a mark. */
function marked(text, words) {
    const pattern = new RegExp(`(${words.map((word) => word.replace(/[^\p{L}\p{N}]/gu, "\\$&")).join("|")})`, "i");
    return text.split(pattern).map((part, at) => {
        if (at % 2 === 0) return part;
        const mark = document.createElement("mark");
        mark.textContent = part;
        return mark;
    });
}

function choose(option) {
    for (const other of list.children) other.ariaSelected = String(other === option);
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
}

function close() {
    found.hidden = true;
    field.ariaExpanded = "false";
    field.removeAttribute("aria-activedescendant");
}

// Blocks of code, and boxes that scroll

for (const block of navigator.clipboard ? document.querySelectorAll("main pre") : []) {
    const box = document.createElement("div");
    box.className = "code";
    block.replaceWith(box);
    const button = document.createElement("button");
    button.type = "button";
    button.ariaLive = "polite";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(block.textContent);
        button.textContent = "Copied";
        setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    box.append(block, button);
}

const boxes = [...document.querySelectorAll("main pre, main .wide")];
/** A box that scrolls can be reached with the keyboard. */
function makeReachable() {
    for (const box of boxes) {
        if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
        else box.removeAttribute("tabindex");
    }
}
makeReachable();
addEventListener("resize", makeReachable);

// The contents of the guide, and the headings of the page

const contents = document.querySelector("#Contents");
const here = contents.querySelector("[aria-current]");
contents.scrollTop = (here?.offsetTop ?? 0) - contents.clientHeight / 2;

const outline = document.querySelector("#Headings");
const links = [...outline.querySelectorAll("a")];
const headings = links.map((link) => document.getElementById(link.hash.slice(1)));

/** Marks the last heading above a line near the top. The line moves down with the end of the page. */
function markPresent() {
    const below = document.documentElement.scrollHeight - innerHeight - scrollY;
    const line = 120 + (innerHeight - 120) * Math.max(0, 1 - below / innerHeight);
    const present = headings.findLastIndex((heading) => heading.getBoundingClientRect().top < line);
    for (const [at, link] of links.entries()) {
        if (at === present) link.ariaCurrent = "location";
        else link.ariaCurrent = null;
    }
}
markPresent();
addEventListener("scroll", markPresent, { passive: true });
outline.addEventListener("click", (event) => {
    if (event.target.closest("a") && outline.matches(":popover-open")) outline.hidePopover();
});

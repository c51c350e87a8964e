// <weir-usage>: shows customers of an API what is left of their limits. docs/how/plans.md describes its attributes.
// The token is sent in the header `Authorization` alone; it is never part of an address, and never stored.

const REFRESH_S_MIN = 5;
const REFRESH_S = 30;
const ANSWER_MS_MAX = 10_000;

const STYLE = `
:host {
  --ground: light-dark(#ffffff, #171b1f); --text: light-dark(#14181b, #e7ebee); --muted: light-dark(#5a646b, #9aa5ad);
  --line: light-dark(#868f96, #6d7780); --track: light-dark(#eef0f2, #0b0e10); --none-left: light-dark(#a8281f, #ff9b91);
  --bar: light-dark(#0b6e76, #4fc3cc);
  color-scheme: light dark; display: block; box-sizing: border-box; padding: 16px; border-radius: 8px;
  background: var(--ground); color: var(--text); font: 15px/1.45 system-ui, sans-serif; overflow-wrap: anywhere;
}
:host([hidden]) { display: none; }
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
p, ul { margin: 0; padding: 0; list-style: none; }
[hidden] { display: none !important; }
li + li { margin-top: 20px; }
.name { font-weight: 600; }
.numbers { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 16px; font-variant-numeric: tabular-nums; }
.none-left { color: var(--none-left); font-weight: 600; }
.reset, .foot { color: var(--muted); font-size: 13px; }
.track { height: 10px; margin: 6px 0; border: 1px solid var(--line); border-radius: 5px; background: var(--track); overflow: hidden; }
.fill { box-sizing: border-box; height: 100%; background: var(--bar); border-inline-end: 2px solid var(--text); transition: inline-size .3s; }
.message { padding: 8px 12px; border: 1px solid var(--line); border-radius: 6px; }
.message, .foot { margin-top: 16px; }
.message:first-child { margin-top: 0; }
button { min-height: 32px; margin-top: 8px; padding: 4px 12px; border: 1px solid var(--line); border-radius: 6px;
  background: var(--ground); color: var(--text); font: inherit; cursor: pointer; }
button:focus-visible { outline: 2px solid var(--text); outline-offset: 2px; }
@media (prefers-reduced-motion: reduce) { .fill { transition: none; } }
@media (forced-colors: active) { .fill { forced-color-adjust: none; background: Highlight; border-color: CanvasText; } }
`;

class WeirUsage extends HTMLElement {
    static observedAttributes = ["gate", "token", "token-url", "color", "refresh"];

    #list = element("ul", "limits");
    #foot = element("p", "foot");
    #status = element("p");
    #again = element("button");
    #message = element("div", "message");
    #expired = element("slot");
    /** The elements of each limit, in the order of the answer. */
    #rows = [];
    /** The last answer, and when it came by the clock of this computer. */
    #answer = null;
    #answeredAt = 0;
    /** A token that came from `token-url`. */
    #fetchedToken = null;
    #loadAt = 0;
    /** The number of the newest call: answers to others are ignored. */
    #call = 0;
    #timer;

    constructor() {
        super();
        const root = this.attachShadow({ mode: "open" });
        const style = new CSSStyleSheet();
        style.replaceSync(STYLE);
        root.adoptedStyleSheets = [style];
        this.#expired.name = "expired";
        this.#expired.textContent = "This view has expired. Reload the page.";
        this.#status.setAttribute("role", "status");
        this.#again.textContent = "Try again";
        this.#again.type = "button";
        this.#again.addEventListener("click", () => this.#load());
        this.#message.append(this.#status, this.#again);
        const content = element("div");
        content.lang = "en";
        content.append(this.#list, this.#foot, this.#message);
        root.append(content);
    }

    connectedCallback() {
        document.addEventListener("visibilitychange", this.#tick);
        this.#timer = setInterval(this.#tick, 1000);
        this.#restart();
    }

    disconnectedCallback() {
        document.removeEventListener("visibilitychange", this.#tick);
        this.#timer = clearInterval(this.#timer);
        this.#call += 1;
    }

    attributeChangedCallback(name) {
        if (name === "color") return this.#colour();
        if (name === "refresh") this.#loadAt = 0;
        // Before it is connected, the browser reports each attribute that it has.
        else if (this.#timer) this.#restart();
    }

    /** The colour is set by script, because a policy of the host can forbid attributes of style. */
    #colour() {
        const colour = this.getAttribute("color") ?? "";
        if (CSS.supports("color", colour)) this.style.setProperty("--bar", colour);
        else this.style.removeProperty("--bar");
    }

    #restart() {
        this.#answer = this.#fetchedToken = null;
        this.#show("Loading…");
        this.#load();
    }

    #tick = () => {
        if (document.hidden) return;
        if (Date.now() >= this.#loadAt) this.#load();
        else this.#showResets();
    };

    async #load() {
        const call = ++this.#call;
        const current = () => call === this.#call;
        const refresh_s = Number(this.getAttribute("refresh")) || REFRESH_S;
        this.#loadAt = Infinity;
        let wait_s = Math.max(refresh_s, REFRESH_S_MIN);
        try {
            let token = this.#fetchedToken ?? this.getAttribute("token");
            let response = token ? await this.#usage(token) : null;
            if (!response || response.status === 401) {
                if (current()) token = await this.#newToken();
                if (current()) this.#fetchedToken = token;
                response = token && current() ? await this.#usage(token) : response;
            }
            if (!current()) return;
            if (!response || response.status === 401) {
                // Without another token the answer would be the same.
                if (!this.hasAttribute("token-url")) wait_s = Infinity;
                return this.#showExpired();
            }
            wait_s = Math.max(wait_s, Number(response.headers.get("retry-after")) || 0);
            if (!response.ok) throw new Error(`status ${response.status}`);
            const answer = await response.json();
            if (!current()) return;
            if (!Array.isArray(answer.limits)) throw new Error("an answer without limits");
            this.#answer = answer;
            this.#answeredAt = Date.now();
            this.#showAnswer();
            this.dispatchEvent(new CustomEvent("weir-usage", { detail: answer }));
        } catch {
            if (current()) this.#showUnreachable();
        } finally {
            if (current()) this.#loadAt = Date.now() + wait_s * 1000;
        }
    }

    #usage(token) {
        const gate = (this.getAttribute("gate") ?? "").replace(/\/+$/, "");
        return fetch(`${gate}/usage`, {
            headers: { authorization: `Bearer ${token}` },
            credentials: "omit",
            cache: "no-store",
            referrerPolicy: "no-referrer",
            signal: AbortSignal.timeout(ANSWER_MS_MAX),
        });
    }

    /** A token from the host's own server, which knows its customer by its cookies; null without `token-url`. */
    async #newToken() {
        const url = this.getAttribute("token-url");
        if (!url) return null;
        const signal = AbortSignal.timeout(ANSWER_MS_MAX);
        const response = await fetch(url, { method: "POST", credentials: "include", cache: "no-store", signal });
        if (!response.ok) throw new Error(`status ${response.status}`);
        return (await response.json()).token;
    }

    #showAnswer() {
        const { limits, plan, at } = this.#answer;
        while (this.#rows.length > limits.length) this.#rows.pop().item.remove();
        while (this.#rows.length < limits.length) this.#rows.push(row(this.#list, this.#rows.length));
        limits.forEach((limit, index) => showLimit(this.#rows[index], limit));
        this.#showResets();
        const updated = `Updated ${clock(new Date(at))}`;
        this.#foot.textContent = plan ? `Plan ${plan} · ${updated}` : updated;
        this.#show(limits.length === 0 ? "No limits apply." : "");
    }

    #showResets() {
        if (!this.#answer) return;
        this.#answer.limits.forEach((limit, index) => {
            const text = resetText(limit, this.#answeredAt);
            if (this.#rows[index].reset.textContent !== text) this.#rows[index].reset.textContent = text;
        });
    }

    #showExpired() {
        this.#show("");
        this.#status.replaceChildren(this.#expired);
        this.#message.hidden = false;
        this.#list.hidden = this.#foot.hidden = true;
    }

    #showUnreachable() {
        const since = this.#answer ? ` These numbers are from ${clock(new Date(this.#answer.at))}.` : "";
        this.#show(`Your usage could not be loaded.${since}`);
        this.#again.hidden = false;
        this.#foot.hidden = true;
    }

    /** Shows a message below the last numbers, if there are any; no message if it is empty. */
    #show(message) {
        if (this.#status.textContent !== message || this.#expired.isConnected) this.#status.textContent = message;
        this.#message.hidden = message === "";
        this.#again.hidden = true;
        this.#list.hidden = this.#foot.hidden = !this.#answer;
    }
}

function row(list, index) {
    const item = element("li");
    const name = element("p", "name");
    const track = element("div", "track");
    const fill = element("div", "fill");
    const numbers = element("p", "numbers");
    const [used, left, reset] = [element("span"), element("span"), element("p", "reset")];
    name.id = `limit-${index}`;
    track.setAttribute("role", "meter");
    track.setAttribute("aria-labelledby", name.id);
    track.setAttribute("aria-valuemin", "0");
    track.append(fill);
    numbers.append(used, left);
    item.append(name, track, numbers, reset);
    list.append(item);
    return { item, name, track, fill, used, left, reset };
}

function showLimit(row, { rule, description, algorithm, limit, used, remaining }) {
    const verb = algorithm === "concurrency" ? "in use" : "used";
    row.name.textContent = description || rule;
    row.used.textContent = `${number(used)} of ${number(limit)} ${verb}`;
    row.left.textContent = `${number(remaining)} left`;
    row.left.className = remaining > 0 ? "" : "none-left";
    row.track.setAttribute("aria-valuemax", limit);
    row.track.setAttribute("aria-valuenow", Math.min(used, limit));
    row.track.setAttribute("aria-valuetext", `${row.used.textContent}, ${row.left.textContent}`);
    const share = limit > 0 ? Math.min(used / limit, 1) : 1;
    row.fill.style.setProperty("inline-size", `${share * 100}%`);
    row.fill.hidden = used === 0;
}

/** When units come back: all at once in windows and quotas, little by little in the other algorithms. */
function resetText({ algorithm, reset_after_ms: wait_ms, used }, answeredAt) {
    if (algorithm === "concurrency") return "Free again when a call ends";
    if (wait_ms === null) return "Does not renew";
    const atOnce = algorithm === "fixed_window" || algorithm === "quota";
    if (wait_ms <= 0 || (used === 0 && !atOnce)) return "";
    const resetAt = answeredAt + wait_ms;
    const left_s = Math.round((resetAt - Date.now()) / 1000);
    const verb = atOnce ? "Resets" : "All available again";
    return left_s > 0 ? `${verb} ${inWords(left_s)}, at ${clock(new Date(resetAt))}` : `${verb} now`;
}

function inWords(seconds) {
    const [unit, size] = UNITS.find(([, size]) => seconds >= 1.5 * size) ?? ["second", 1];
    return new Intl.RelativeTimeFormat("en").format(Math.round(seconds / size), unit);
}

const UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60]];

/** A time in the reader's language, with its date unless it is today. */
function clock(time) {
    const today = time.toDateString() === new Date().toDateString();
    return new Intl.DateTimeFormat(undefined, { timeStyle: "medium", ...(today ? {} : { dateStyle: "medium" }) }).format(time);
}

function number(value) {
    return new Intl.NumberFormat().format(value);
}

function element(tag, className = "") {
    const made = document.createElement(tag);
    if (className) made.className = className;
    return made;
}

customElements.define("weir-usage", WeirUsage);

// The responsiveness of a long list of rules: rendered rows, scrolling, and typing into the filter, in milliseconds.

/** Measures the list of `count` rules on the page, prints the figures and returns them. */
export async function measureList(page, count) {
    const table = page.getByRole("region", { name: "Rules" });
    const rows = await table.getByRole("row").count();
    const wheel = spread(await table.evaluate(scroll, { frames: 240, to: 240 * 120 }));
    const drag = spread(await table.evaluate(scroll, { frames: 120 }));
    const typed = [];
    for (const key of "every user") typed.push(await page.getByLabel("Filter").evaluate(type, key));
    await page.getByLabel("Filter").fill("");
    const keystrokes = spread(typed);
    console.log(
        `${count} rules, ${rows} rows at once: a frame of turning the wheel ${text(wheel)}; ` +
            `of dragging from end to end ${text(drag)}; a key of the filter ${text(keystrokes)}`,
    );
    return { rows, wheel, drag, keystrokes };
}

/** In the page: scrolls from the first row to `to`, or to the last row, in `frames` frames; returns the length of each. */
async function scroll(frame, { frames, to }) {
    const lengths = [];
    const height = Math.min(to ?? frame.scrollHeight, frame.scrollHeight);
    const tick = () => new Promise((resolve) => requestAnimationFrame(resolve));
    let before = await tick();
    for (let step = 1; step <= frames; step += 1) {
        frame.scrollTop = (height * step) / frames;
        const now = await tick();
        lengths.push(now - before);
        before = now;
    }
    return lengths;
}

/** In the page: the time from a key until the frame after the one that shows its effect. */
function type(input, key) {
    const began = performance.now();
    input.value += key;
    input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    return new Promise((resolve) => {
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - began)));
    });
}

function spread(all) {
    all.sort((a, b) => a - b);
    const at = (share) => all[Math.min(all.length - 1, Math.floor(all.length * share))];
    return { median: at(0.5), p95: at(0.95), worst: all.at(-1) };
}

function text({ median, p95, worst }) {
    return `${median.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, worst ${worst.toFixed(0)} ms`;
}

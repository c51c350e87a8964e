const bundles = new Map();

/** The bytes `from` to `to` of a bundle, as if they were a file. A bundle is fetched once, unless that fails. */
async function piece(url, from, to) {
    if (!bundles.has(url.href)) {
        bundles.set(url.href, bytesOf(url));
    }
    try {
        const bytes = await bundles.get(url.href);
        return new Response(bytes.subarray(from, to), { headers: { "Content-Type": "application/wasm" } });
    } catch (problem) {
        bundles.delete(url.href);
        throw problem;
    }
}

async function bytesOf(url) {
    const response = await fetch(url);
    if (!response.ok) {
        throw new TypeError(`WebAssembly: the server answered ${response.status} to ${url}`);
    }
    return new Uint8Array(await response.arrayBuffer());
}

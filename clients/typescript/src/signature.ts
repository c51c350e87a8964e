/** The headers of a request: of `fetch`, or of Node.js. */
export type RequestHeaders = Headers | Record<string, string | string[] | undefined>;

export interface SignatureOptions {
  /** The greatest difference between the clocks, in seconds; 300 if not given. */
  toleranceS?: number;
  /** Seconds since 1970; the clock of the system if not given. For tests. */
  now?: () => number;
}

/**
 * Whether Weir sent this message (a deferred job or an alert) lately and nobody changed it: whether one of its signatures was made with the
 * secret of the webhook. `body` is what arrived, not yet parsed. A message can arrive twice: remember its `webhook-id`.
 */
export async function isFromWeir(
  secret: string,
  headers: RequestHeaders,
  body: string | Uint8Array,
  options: SignatureOptions = {},
): Promise<boolean> {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => headerOf(headers, name));
  const key = bytesOf(secret.replace(/^whsec_/, ""));
  if (key === null || key.length === 0) throw new TypeError("secret: the secret of a webhook is needed");
  if (id == null || timestamp == null || signatures == null || !/^[0-9]{1,15}$/.test(timestamp)) return false;
  const { toleranceS = 300, now = () => Date.now() / 1000 } = options;
  if (Math.abs(now() - Number(timestamp)) > toleranceS) return false;
  const text = new TextEncoder();
  const hmac = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signed = joined(text.encode(`${id}.${timestamp}.`), typeof body === "string" ? text.encode(body) : body);
  for (const signature of signatures.split(" ").slice(0, SIGNATURES_MAX)) {
    const bytes = signature.startsWith("v1,") ? bytesOf(signature.slice(3)) : null;
    if (bytes !== null && (await crypto.subtle.verify("HMAC", hmac, bytes, signed))) return true;
  }
  return false;
}

/** More than Weir sends: one, and two while a secret is replaced. */
const SIGNATURES_MAX = 8;

function headerOf(headers: RequestHeaders, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const value = headers[name];
  return typeof value === "string" ? value : null;
}

/** The bytes of a text in base64; null if it is another one. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

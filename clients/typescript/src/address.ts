import { knownOnly } from "./options.js";

export interface AddressOptions {
  /**
   * The number of proxies before this server that append to `X-Forwarded-For`. With 0, the default, the header is ignored:
   * anybody can send it. If it arrives, a warning asks for this option once; 0 that is written silences it.
   */
  trustedHops?: number;
  /** The prefix length by which IPv6 addresses are counted, 32 to 128; 64 if not given, which is what one customer has. */
  ipv6Prefix?: number;
  /** Whether a misuse of these options is reported on the console, once each; true if not given. */
  warnings?: boolean;
}

const NAMES = ["trustedHops", "ipv6Prefix", "warnings"] satisfies (keyof AddressOptions)[];

/** The address to count by: of the peer, or as the outermost trusted proxy saw it. */
export function clientAddress(
  peer: string | null | undefined,
  forwardedFor: string | readonly string[] | null | undefined,
  options: AddressOptions = {},
): string {
  knownOnly("ip", options, NAMES);
  const { trustedHops = 0, ipv6Prefix = 64, warnings = true } = options;
  if (!Number.isInteger(trustedHops) || trustedHops < 0) throw new RangeError("trustedHops: 0 or more");
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 32 || ipv6Prefix > 128) {
    throw new RangeError("ipv6Prefix: 32 to 128");
  }
  const hops = [forwardedFor ?? []].flat().join(",").split(",").filter((hop) => hop.trim() !== "");
  const seen = trustedHops === 0 ? undefined : hops.at(-Math.min(trustedHops, hops.length));
  if (warnings) {
    if (options.trustedHops === undefined && hops.length > 0) warnOnce(IGNORED);
    if (hops.length < trustedHops) warnOnce(MISSING);
    if (seen !== undefined && PRIVATE.test(prefix(seen, 128) ?? "")) warnOnce(INNER);
  }
  const address = prefix(seen ?? "", ipv6Prefix) ?? prefix(peer ?? "", ipv6Prefix);
  if (address === null) {
    throw new TypeError("the address of the peer is not known here: set trustedHops to the number of proxies");
  }
  return address;
}

const IGNORED =
  "X-Forwarded-For is ignored, so that all who come through a proxy can count as one; set trustedHops to the number of proxies before this " +
  "server (trustedHops: 0 silences this)";
const MISSING =
  "X-Forwarded-For of a request has fewer addresses than trustedHops, so that it did not pass all these proxies, and its client can choose the " +
  "address by which it counts (warnings: false silences this)";
const INNER =
  "the address of X-Forwarded-For that counts is a private one, perhaps of a proxy; trustedHops must be the number of all proxies before this " +
  "server (warnings: false silences this)";
/** Addresses of private networks, links and the machine itself. */
const PRIVATE = /^(10|127)\.|^192\.168\.|^172\.(1[6-9]|2\d|3[01])\.|^169\.254\.|^f[cd]..:|^fe[89ab].:|^::1$/;

const warned = new Set<string>();

function warnOnce(text: string): void {
  if (warned.has(text)) return;
  warned.add(text);
  console.warn(`weir: ${text}`);
}

/** An address without port and zone, IPv6 cut to its prefix; null if it is none. */
function prefix(text: string, ipv6Prefix: number): string | null {
  const bare = text.trim().replace(/^\[(.*)\](:\d+)?$/, "$1").replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1").replace(/%.*$/, "");
  if (ipv4(bare) !== null) return bare;
  const groups = ipv6(bare);
  if (groups === null) return null;
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6);
    return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  }
  const kept = groups.map((group, at) => {
    const bits = Math.min(Math.max(ipv6Prefix - at * 16, 0), 16);
    return group & (0xffff << (16 - bits)) & 0xffff;
  });
  const written = canonical(kept);
  return ipv6Prefix === 128 ? written : `${written}/${ipv6Prefix}`;
}

function ipv4(text: string): number[] | null {
  const parts = text.split(".");
  const valid = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
  return valid ? parts.map(Number) : null;
}

/** The eight groups of an IPv6 address. */
function ipv6(text: string): number[] | null {
  const dotted = /^(.*:)([^:]*\.[^:]*)$/.exec(text);
  let hex = text;
  if (dotted?.[1] !== undefined && dotted[2] !== undefined) {
    const bytes = ipv4(dotted[2]);
    if (bytes === null) return null;
    const [a = 0, b = 0, c = 0, d = 0] = bytes;
    hex = `${dotted[1]}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  }
  const halves = hex.split("::");
  if (halves.length > 2) return null;
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...head, ...Array<string>(missing).fill("0"), ...tail];
  return groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group)) ? groups.map((group) => parseInt(group, 16)) : null;
}

/** RFC 5952: the first of the longest runs of zeros becomes `::`. */
function canonical(groups: number[]): string {
  let best = { at: -1, length: 1 };
  for (let at = 0; at < 8; at += 1) {
    let length = 0;
    while (groups[at + length] === 0) length += 1;
    if (length > best.length) best = { at, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (best.at < 0) return hex.join(":");
  return `${hex.slice(0, best.at).join(":")}::${hex.slice(best.at + best.length).join(":")}`;
}

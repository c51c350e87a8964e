import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";

import { type AddressOptions, clientAddress } from "./address.js";
import type { Weir } from "./client.js";
import { type MiddlewareOptions, UNMATCHED, admit } from "./middleware.js";

/** Middleware of Hono. */
export function weir(client: Weir, options: MiddlewareOptions<Context>): MiddlewareHandler {
  return async (context, next) => {
    const { headers, refusal, settle } = await admit(client, options, context);
    if (refusal !== null) return context.body(JSON.stringify(refusal.body), refusal.status, refusal.headers);
    await next();
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    await settle(context.res.status);
    return undefined;
  };
}

/**
 * The address of the client. `X-Forwarded-For` is read only with `trustedHops`. The peer is known with `@hono/node-server`; pass
 * `peer` for other adapters (`getConnInfo(c).remote.address`).
 */
export function ip(context: Context, options: AddressOptions & { peer?: string } = {}): string {
  const incoming = context.env?.incoming as { socket?: { remoteAddress?: string } } | undefined;
  const peer = options.peer ?? incoming?.socket?.remoteAddress;
  return clientAddress(peer, context.req.header("x-forwarded-for"), options);
}

/** The pattern of the route, such as `/users/:id`; `unmatched` if only middleware matches. */
export function route(context: Context): string {
  // Middleware is registered for all methods, a handler for one; `app.all` counts as a handler by its concrete path.
  const handler = matchedRoutes(context).findLast(({ method, path }) => method !== "ALL" || !path.endsWith("*"));
  return handler?.path ?? UNMATCHED;
}

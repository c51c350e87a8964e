import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";

import { type AddressOptions, clientAddress } from "./address.js";
import type { Answer } from "./answer.js";
import type { Weir } from "./client.js";
import { settleIfAway, settleResponse } from "./ended.js";
import { type MiddlewareOptions, UNMATCHED, admit, checkOptions, textOf } from "./middleware.js";

declare module "hono" {
  interface ContextVariableMap {
    /** The answer of the limit that decided last about this request. */
    weir?: Answer;
  }
}

/** Middleware of Hono. */
export function weir(client: Weir, options: MiddlewareOptions<Context>): MiddlewareHandler {
  checkOptions(options);
  return async (context, next) => {
    const admission = await admit(client, options, context);
    const { answer, refusal } = admission;
    if (refusal !== null) return new Response(textOf(refusal), refusal);
    if (answer !== null) context.set("weir", answer);
    settleIfAway(context.req.raw, admission);
    // An error of the handler is a response by now.
    await next();
    for (const [name, value] of Object.entries(admission.headers)) if (!context.res.headers.has(name)) context.header(name, value);
    if (answer !== null) context.res = await settleResponse(context.res, admission);
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

import { type AddressOptions, clientAddress } from "./address.js";
import type { Weir } from "./client.js";
import { type MiddlewareOptions, admit } from "./middleware.js";

/** A route handler of the App Router. */
export type Handler<R extends Request, C> = (request: R, context: C) => Response | Promise<Response>;

/** Wraps a route handler: `export const POST = limited(weir, { … }, async (request) => …)`. */
export function limited<R extends Request, C>(
  client: Weir,
  options: MiddlewareOptions<R>,
  handler: Handler<R, C>,
): (request: R, context: C) => Promise<Response> {
  return async (request, context) => {
    const { headers, refusal, settle } = await admit(client, options, request);
    if (refusal !== null) return new Response(JSON.stringify(refusal.body), refusal);
    const answered = await handler(request, context);
    // The headers of `Response.redirect` and of fetched responses cannot be changed.
    const response = new Response(answered.body, answered);
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    await settle(response.status);
    return response;
  };
}

/** The address of the client. Next.js does not pass on the peer, so the number of proxies (the platform's count too) is needed. */
export function ip(request: Request, options: AddressOptions & { trustedHops: number }): string {
  return clientAddress(null, request.headers.get("x-forwarded-for"), options);
}

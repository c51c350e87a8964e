import { type AddressOptions, clientAddress } from "./address.js";
import type { Weir } from "./client.js";
import { settleIfAway, settleResponse } from "./ended.js";
import { type MiddlewareOptions, admit, checkOptions, textOf } from "./middleware.js";

/** A route handler of the App Router. */
export type Handler<R extends Request, C> = (request: R, context: C) => Response | Promise<Response>;

/** Wraps a route handler: `export const POST = limited(weir, { … }, async (request) => …)`. */
export function limited<R extends Request, C>(
  client: Weir,
  options: MiddlewareOptions<R>,
  handler: Handler<R, C>,
): (request: R, context: C) => Promise<Response> {
  checkOptions(options);
  return async (request, context) => {
    const admission = await admit(client, options, request);
    const { refusal, settle } = admission;
    if (refusal !== null) return new Response(textOf(refusal), refusal);
    settleIfAway(request, admission);
    let answered;
    try {
      answered = await handler(request, context);
    } catch (error) {
      await settle(500);
      throw error;
    }
    // The headers of `Response.redirect` and of fetched responses cannot be changed.
    const response = new Response(answered.body, answered);
    for (const [name, value] of Object.entries(admission.headers)) if (!response.headers.has(name)) response.headers.set(name, value);
    return settleResponse(response, admission);
  };
}

/** The address of the client. Next.js does not pass on the peer, so the number of proxies (the platform's count too) is needed. */
export function ip(request: Request, options: AddressOptions & { trustedHops: number }): string {
  return clientAddress(null, request.headers.get("x-forwarded-for"), options);
}

import type { FastifyReply, FastifyRequest } from "fastify";

import { type AddressOptions, clientAddress } from "./address.js";
import type { Answer } from "./answer.js";
import type { Weir } from "./client.js";
import { settleAfter } from "./ended.js";
import { replaceHeaders } from "./headers.js";
import { type MiddlewareOptions, UNMATCHED, admit, checkOptions, textOf } from "./middleware.js";

declare module "fastify" {
  interface FastifyRequest {
    /** The answer of the limit that decided last about this request. */
    weir?: Answer;
  }
}

/** A hook (`onRequest` or `preHandler`) for an application or a route of Fastify. */
export function weir(client: Weir, options: MiddlewareOptions<FastifyRequest>) {
  checkOptions(options);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const { headers, refusal, settle } = await admit(client, options, request);
    replaceHeaders(reply, refusal?.headers ?? headers);
    if (refusal !== null) return reply.code(refusal.status).send(textOf(refusal));
    settleAfter(reply.raw, settle);
    return undefined;
  };
}

/** The address of the client. `X-Forwarded-For` is read only with `trustedHops`; Fastify's `trustProxy` has no effect. */
export function ip(request: FastifyRequest, options?: AddressOptions): string {
  return clientAddress(request.raw.socket.remoteAddress, request.headers["x-forwarded-for"], options);
}

/** The pattern of the route, such as `/users/:id`; `unmatched` if there is none. */
export function route(request: FastifyRequest): string {
  return request.routeOptions.url ?? UNMATCHED;
}

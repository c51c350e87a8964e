import type { Request, RequestHandler, Response } from "express";

import { type AddressOptions, clientAddress } from "./address.js";
import type { Answer } from "./answer.js";
import type { Weir } from "./client.js";
import { settleAfter } from "./ended.js";
import { replaceHeaders } from "./headers.js";
import { type MiddlewareOptions, admit, checkOptions, textOf } from "./middleware.js";

declare global {
  namespace Express {
    interface Request {
      /** The answer of the limit that decided last about this request. */
      weir?: Answer;
    }
  }
}

/** Middleware for an application, a router or a route of Express. */
export function weir(client: Weir, options: MiddlewareOptions<Request>): RequestHandler {
  checkOptions(options);
  return (request, response, next) => {
    limit(client, options, request, response).then((admitted) => (admitted ? next() : undefined), next);
  };
}

/** The address of the client. `X-Forwarded-For` is read only with `trustedHops`; Express' `trust proxy` has no effect. */
export function ip(request: Request, options?: AddressOptions): string {
  return clientAddress(request.socket.remoteAddress, request.headers["x-forwarded-for"], options);
}

/** The pattern of the route, such as `/users/:id`. Known only in middleware of the route itself. */
export function route(request: Request): string {
  const path: unknown = request.route?.path;
  if (path === undefined) {
    throw new Error("route: Express has not matched a route yet; pass the middleware to the route: app.get(path, weir(…), handler)");
  }
  return request.baseUrl + String(path);
}

async function limit(
  client: Weir,
  options: MiddlewareOptions<Request>,
  request: Request,
  response: Response,
): Promise<boolean> {
  const { headers, refusal, settle } = await admit(client, options, request);
  replaceHeaders(response, refusal?.headers ?? headers);
  if (refusal !== null) {
    response.status(refusal.status).send(textOf(refusal));
    return false;
  }
  settleAfter(response, settle);
  return true;
}

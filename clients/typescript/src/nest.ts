import type { IncomingMessage } from "node:http";

import { type CanActivate, type ExecutionContext, HttpException } from "@nestjs/common";

import { type AddressOptions, clientAddress } from "./address.js";
import type { Weir } from "./client.js";
import { type MiddlewareOptions, UNMATCHED, admit } from "./middleware.js";

/** The parts of a request of Express or Fastify that the helpers read. */
export interface NestRequest {
  headers: IncomingMessage["headers"];
  socket: { remoteAddress?: string | undefined };
  route?: { path?: unknown };
  routeOptions?: { url?: string };
}

interface NestResponse {
  header(name: string, value: string): unknown;
  statusCode: number;
  raw?: NodeJS.EventEmitter;
}

/** A guard for a controller, a handler or (`useGlobalGuards`) the application, on Express or Fastify. */
export function weirGuard<R extends NestRequest>(client: Weir, options: MiddlewareOptions<R>): CanActivate {
  return {
    async canActivate(context: ExecutionContext): Promise<boolean> {
      const http = context.switchToHttp();
      const response = http.getResponse<NestResponse>();
      const { headers, refusal, settle } = await admit(client, options, http.getRequest<R>());
      for (const [name, value] of Object.entries(refusal?.headers ?? headers)) response.header(name, value);
      if (refusal !== null) throw new HttpException(refusal.body, refusal.status);
      const stream = response.raw ?? (response as unknown as NodeJS.EventEmitter);
      stream.once("finish", () => void settle(response.statusCode));
      return true;
    },
  };
}

/** The address of the client. `X-Forwarded-For` is read only with `trustedHops`. */
export function ip(request: NestRequest, options?: AddressOptions): string {
  return clientAddress(request.socket.remoteAddress, request.headers["x-forwarded-for"], options);
}

/** The pattern of the route, such as `/users/:id`. */
export function route(request: NestRequest): string {
  return request.routeOptions?.url ?? (request.route?.path === undefined ? UNMATCHED : String(request.route.path));
}

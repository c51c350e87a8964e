import type { IncomingMessage } from "node:http";

import {
  type CanActivate,
  type DynamicModule,
  type ExecutionContext,
  type FactoryProvider,
  HttpException,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  createParamDecorator,
} from "@nestjs/common";

import { type AddressOptions, clientAddress } from "./address.js";
import type { Answer as AnswerOfCheck } from "./answer.js";
import { Weir } from "./client.js";
import { settleAfter } from "./ended.js";
import { replaceHeaders } from "./headers.js";
import { type MiddlewareOptions, type Refusal, UNMATCHED, admit, answerOf, checkOptions, textOf } from "./middleware.js";
import type { Options } from "./options.js";
import { type Denial, MemoryGate } from "./testing.js";

/** The parts of a request of Express or Fastify that the helpers read. */
export interface NestRequest {
  headers: IncomingMessage["headers"];
  socket: { remoteAddress?: string | undefined };
  route?: { path?: unknown };
  routeOptions?: { url?: string };
}

export interface NestResponse {
  header(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
  status(status: number): unknown;
  send(body: string): unknown;
  statusCode: number;
  destroyed?: boolean;
  raw?: NestResponse;
  once(event: "finish" | "close", listener: () => void): unknown;
}

/** The limits of a refused request's route threw this. A filter with `@Catch(WeirException)` makes another response of it. */
export class WeirException extends HttpException {
  constructor(
    readonly answer: AnswerOfCheck,
    readonly refusal: Refusal,
  ) {
    super(refusal.body, refusal.status);
  }
}

/** A guard for a controller, a handler or (`useGlobalGuards`) the application, on Express or Fastify. */
export function weirGuard<R extends NestRequest>(client: Weir, options: MiddlewareOptions<R>): CanActivate {
  checkOptions(options);
  return {
    async canActivate(context: ExecutionContext): Promise<boolean> {
      const http = context.switchToHttp();
      await limit(client, options, http.getRequest<R>(), http.getResponse<NestResponse>());
      return true;
    },
  };
}

async function limit<R extends object>(client: Weir, options: MiddlewareOptions<R>, request: R, response: NestResponse): Promise<void> {
  const { answer, headers, refusal, settle } = await admit(client, options, request);
  replaceHeaders(response, refusal?.headers ?? headers);
  if (answer !== null && refusal !== null) {
    if (typeof refusal.body === "string") {
      // Nest would make JSON of it; its filter finds the response sent.
      response.status(refusal.status);
      response.send(textOf(refusal));
    }
    throw new WeirException(answer, refusal);
  }
  settleAfter(response.raw ?? response, settle);
}

/** The options of the client, or a client, and the limits of all routes that do not have `@SkipLimit()`. */
export type WeirModuleOptions<R = NestRequest> = (Options | { client: Weir }) & { limits?: readonly MiddlewareOptions<R>[] };

export interface WeirModuleAsyncOptions<R = NestRequest> extends Pick<ModuleMetadata, "imports"> {
  inject?: NonNullable<FactoryProvider["inject"]>;
  useFactory: (...injected: any[]) => WeirModuleOptions<R> | Promise<WeirModuleOptions<R>>;
}

const OPTIONS = Symbol.for("weir.nest.options");
const LIMITS = Symbol.for("weir.nest.limits");
const SKIP = Symbol.for("weir.nest.skip");

/** Provides `Weir` and `WeirGuard` to all modules. */
export class WeirModule {
  static forRoot<R = NestRequest>(options: WeirModuleOptions<R>): DynamicModule {
    return WeirModule.forRootAsync({ useFactory: () => options });
  }

  static forRootAsync<R = NestRequest>({ imports = [], inject = [], useFactory }: WeirModuleAsyncOptions<R>): DynamicModule {
    return {
      module: WeirModule,
      global: true,
      imports,
      providers: [{ provide: OPTIONS, inject, useFactory }, { provide: Weir, inject: [OPTIONS], useFactory: clientOf }, WeirGuard],
      exports: [OPTIONS, Weir, WeirGuard],
    };
  }

  /** A module whose client asks a `MemoryGate`, which admits all but these checks. */
  static forTest<R = NestRequest>({ deny = [], limits = [] }: { deny?: readonly Denial[]; limits?: readonly MiddlewareOptions<R>[] } = {}): DynamicModule {
    return WeirModule.forRoot({ client: new MemoryGate({ deny }).client(), limits });
  }
}
Module({})(WeirModule);

function clientOf<R>(options: WeirModuleOptions<R>): Weir {
  if ("client" in options) return options.client;
  const { limits: _, ...rest } = options;
  return new Weir(rest);
}

/** Limits a route or all routes of a controller, beside the limits of the module. */
export function Limit<R = NestRequest>(options: MiddlewareOptions<R>): MethodDecorator & ClassDecorator {
  checkOptions(options);
  return decorate(LIMITS, (limits: MiddlewareOptions<R>[] = []) => [options, ...limits]);
}

/** Exempts a route or all routes of a controller from all limits. */
export function SkipLimit(): MethodDecorator & ClassDecorator {
  return decorate(SKIP, () => true);
}

/** The answer of the limit that decided last about the request. */
export const Answer: () => ParameterDecorator = createParamDecorator((_, context: ExecutionContext) =>
  answerOf(context.switchToHttp().getRequest<object>()),
);

/** Properties of the class or method, where a guard finds them. */
type Marked = Record<symbol, unknown>;

function decorate<T>(name: symbol, change: (before: T | undefined) => T): MethodDecorator & ClassDecorator {
  return ((target: object, _?: string | symbol, descriptor?: PropertyDescriptor) => {
    const marked = (descriptor?.value ?? target) as Marked;
    const own = Object.hasOwn(marked, name) ? (marked[name] as T) : undefined;
    Object.defineProperty(marked, name, { value: change(own), configurable: true });
  }) as MethodDecorator & ClassDecorator;
}

/** Applies the limits of the module, of the controller and of the route, in this order. Provide it as `APP_GUARD`, or use `@UseGuards(WeirGuard)`. */
export class WeirGuard implements CanActivate {
  constructor(
    private readonly weir: Weir,
    private readonly options: WeirModuleOptions<object>,
  ) {
    for (const one of options.limits ?? []) checkOptions(one);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const marks = [context.getClass(), context.getHandler()] as unknown as Marked[];
    if (marks.some((marked) => marked[SKIP] === true)) return true;
    const own = marks.flatMap((marked) => (marked[LIMITS] ?? []) as MiddlewareOptions<object>[]);
    const limits = [...(this.options.limits ?? []), ...own];
    if (limits.length === 0) return true;
    const { request, response } = this.getRequestResponse(context);
    for (const one of limits) await limit(this.weir, one, request, response);
    return true;
  }

  /** Override it for GraphQL (`GqlExecutionContext.create(context).getContext()`) and WebSocket. */
  protected getRequestResponse(context: ExecutionContext): { request: object; response: NestResponse } {
    if (context.getType() !== "http") {
      throw new Error(`WeirGuard: override getRequestResponse for ${context.getType<string>()}, or exempt the handler by @SkipLimit()`);
    }
    const http = context.switchToHttp();
    return { request: http.getRequest<object>(), response: http.getResponse<NestResponse>() };
  }
}
Injectable()(WeirGuard);
Inject(Weir)(WeirGuard, undefined, 0);
Inject(OPTIONS)(WeirGuard, undefined, 1);

/** The address of the client. `X-Forwarded-For` is read only with `trustedHops`. */
export function ip(request: NestRequest, options?: AddressOptions): string {
  return clientAddress(request.socket.remoteAddress, request.headers["x-forwarded-for"], options);
}

/** The pattern of the route, such as `/users/:id`. */
export function route(request: NestRequest): string {
  return request.routeOptions?.url ?? (request.route?.path === undefined ? UNMATCHED : String(request.route.path));
}

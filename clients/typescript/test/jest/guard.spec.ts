// As in a project that Nest's starter made: Jest, ts-jest and CommonJS, with types as `moduleResolution: node10` finds them.
import { Controller, ExecutionContext, Get } from "@nestjs/common";
import { Test } from "@nestjs/testing";
import { Answer, Weir } from "@weir-ratelimit/client";
import { Limit, NestRequest, WeirException, WeirGuard, WeirModule } from "@weir-ratelimit/client/nest";
import { limited } from "@weir-ratelimit/client/next";
import { MemoryGate } from "@weir-ratelimit/client/testing";

@Controller()
class Reports {
  @Get()
  @Limit<NestRequest>({ namespace: "api", attributes: ({ headers }) => ({ user: String(headers["x-user"]) }) })
  list(): string {
    return "fine";
  }
}

const context = (user: string) =>
  ({
    getClass: () => Reports,
    getHandler: () => Reports.prototype.list,
    getType: () => "http",
    switchToHttp: () => ({ getRequest: () => ({ headers: { "x-user": user } }), getResponse: () => ({ header() {}, once() {} }) }),
  }) as unknown as ExecutionContext;

test("the guard refuses what the gate denies", async () => {
  const imports = [WeirModule.forTest({ deny: [{ attributes: { user: "eve" } }] })];
  const module = await Test.createTestingModule({ imports, controllers: [Reports] }).compile();
  const guard = module.get(WeirGuard);
  expect(await guard.canActivate(context("ada"))).toBe(true);
  await expect(guard.canActivate(context("eve"))).rejects.toThrow(WeirException);
  expect(module.get(Weir)).toBeInstanceOf(Weir);
});

test("every way into the package has types and CommonJS", async () => {
  const answer: Answer = await new MemoryGate().client().check("api", { user: 1 });
  expect(answer.allowed).toBe(true);
  const handler = limited(new MemoryGate().client(), { namespace: "api", attributes: (request: Request) => ({ path: request.url }) }, () => new Response("fine"));
  expect(handler).toBeInstanceOf(Function);
  for (const name of ["express", "fastify", "hono"]) expect(require(`@weir-ratelimit/client/${name}`).weir).toBeInstanceOf(Function);
  const made = WeirModule.forRootAsync({ useFactory: () => ({ url: "http://a", key: "k", onError: "deny" as const }) });
  expect(made.module).toBe(WeirModule);
});

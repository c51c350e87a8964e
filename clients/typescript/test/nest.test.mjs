import "reflect-metadata";

import assert from "node:assert/strict";
import { test } from "node:test";

import { Controller, Get, Module, UseFilters } from "@nestjs/common";
import { APP_GUARD, NestFactory } from "@nestjs/core";

import { Weir } from "../dist/index.js";
import { Answer, Limit, SkipLimit, WeirException, WeirGuard, WeirModule } from "../dist/nest.js";
import { MemoryGate } from "../dist/testing.js";

const every = { namespace: "api", attributes: () => ({ scope: "all" }) };

/** Starts an application with the routes `free`, `tight` and `plain`, which return the answer that they found. */
async function start(weirModule, decorate = () => {}) {
  class Routes {
    free(answer) {
      return { allowed: answer?.allowed ?? null };
    }
    tight(answer) {
      return { allowed: answer?.allowed ?? null };
    }
    plain(answer) {
      return { allowed: answer?.allowed ?? null };
    }
  }
  const on = (name) => [Routes.prototype, name, Object.getOwnPropertyDescriptor(Routes.prototype, name)];
  for (const name of ["free", "tight", "plain"]) {
    Get(name)(...on(name));
    Answer()(Routes.prototype, name, 0);
  }
  SkipLimit()(...on("free"));
  Limit({ namespace: "api", attributes: () => ({ scope: "tight" }) })(...on("tight"));
  decorate(Routes);
  Controller()(Routes);
  class App {}
  Module({ imports: [weirModule], controllers: [Routes], providers: [{ provide: APP_GUARD, useClass: WeirGuard }] })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, "127.0.0.1");
  const url = await app.getUrl();
  return { app, get: async (path) => { const got = await fetch(`${url}/${path}`); return [got.status, await got.json()]; } };
}

test("the module's limits come before the route's, and @SkipLimit exempts", async () => {
  const gate = new MemoryGate();
  const { app, get } = await start(WeirModule.forRootAsync({ useFactory: async () => ({ client: gate.client(), limits: [every] }) }));
  assert.deepEqual(await get("plain"), [200, { allowed: true }]);
  assert.deepEqual(await get("free"), [200, { allowed: null }]);
  assert.deepEqual(await get("tight"), [200, { allowed: true }]);
  assert.deepEqual(gate.received.map(({ attributes }) => attributes.scope), ["all", "all", "tight"]);
  assert(app.get(Weir) instanceof Weir, "the client can be injected");
  await app.close();
});

test("@Limit on a controller limits its routes, the outer one first", async () => {
  const gate = new MemoryGate({ deny: [{ attributes: { scope: "tight" } }] });
  const limit = { namespace: "api", attributes: () => ({ scope: "controller" }) };
  const { app, get } = await start(WeirModule.forRoot({ client: gate.client() }), Limit(limit));
  assert.equal((await get("plain"))[0], 200);
  assert.equal((await get("tight"))[0], 429);
  assert.deepEqual(gate.received.map(({ attributes }) => attributes.scope), ["controller", "controller", "tight"]);
  await app.close();
});

test("forTest denies what the test says, and an exception filter can answer", async () => {
  const module = WeirModule.forTest({ deny: [{ attributes: { scope: "all" }, retryAfterMs: 7_000 }], limits: [every] });
  const plain = await start(module);
  assert.equal((await plain.get("plain"))[1].code, "rate_limited");
  await plain.app.close();
  const filter = {
    catch(error, host) {
      assert(error instanceof WeirException);
      host.switchToHttp().getResponse().status(420).json({ again: error.answer.retryAfterMs });
    },
  };
  const filtered = await start(module, UseFilters(filter));
  assert.deepEqual(await filtered.get("plain"), [420, { again: 7_000 }]);
  await filtered.app.close();
});

test("what is not HTTP is not limited by accident nor passed by accident", async () => {
  const guard = new WeirGuard(new MemoryGate().client(), { limits: [every] });
  class Routes {}
  const execution = { getClass: () => Routes, getHandler: () => () => {}, getType: () => "graphql" };
  await assert.rejects(guard.canActivate(execution), /override getRequestResponse for graphql/);
  const request = {};
  class ForGraphql extends WeirGuard {
    getRequestResponse() {
      return { request, response: { header() {}, once() {} } };
    }
  }
  assert.equal(await new ForGraphql(new MemoryGate().client(), { limits: [every] }).canActivate(execution), true);
  assert.equal(request.weir.allowed, true);
});

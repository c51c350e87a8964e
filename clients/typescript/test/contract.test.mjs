import "reflect-metadata";

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { serve } from "@hono/node-server";
import { Controller, Get, Module, Req, Res, UseGuards } from "@nestjs/common";
import { APP_GUARD, NestFactory } from "@nestjs/core";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";

import * as forExpress from "../dist/express.js";
import * as forFastify from "../dist/fastify.js";
import * as forHono from "../dist/hono.js";
import { Weir, answerOf } from "../dist/index.js";
import * as forNest from "../dist/nest.js";
import * as forNext from "../dist/next.js";
import { GATE, GENEROUS_MS, KEY, RUN, STUB, closedPort, conformance } from "./support.mjs";

const gate = new Weir({ url: GATE, key: KEY, onError: "deny", timeoutMs: GENEROUS_MS, cacheSize: 0 });
const frameworks = { express: onExpress, fastify: onFastify, hono: onHono, next: onNext, nest: onNest, "nest's module": onNestModule };
const first = conformance.cases.length + conformance.concurrent.cases.length;

for (const [framework, start] of Object.entries(frameworks)) {
  for (const [position, row] of conformance.middleware.cases.entries()) {
    test(`${framework}: ${row.name}`, async () => {
      const run = `${RUN}-${framework.replace(/\W/g, "")}`;
      const url = { gate: GATE, stub: `${STUB}/${first + position}/${run}`, closed: await closedPort() }[row.server];
      const client = new Weir({ url, key: KEY, onError: "deny", timeoutMs: GENEROUS_MS, cacheSize: 0 });
      const stubbed = async () => (await fetch(`${url}/requests`)).json();
      const [decisions, statuses] = [[], []];
      const attributesOf = (attributes) => Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, value.replace("$RUN", run)]));
      const limits = row.limits.map(({ attributes, cost = 1, headers = true, skip = false, on_refused, refund_from_status }) => ({
        namespace: "conformance",
        attributes: () => attributesOf(attributes),
        cost,
        headers,
        skip: () => skip,
        onDecision: (answer, milliseconds) => {
          assert(milliseconds >= 0);
          decisions.push({ allowed: answer.allowed, degraded: answer.degraded });
        },
        onRefundError: (error) => assert.fail(error),
        ...(on_refused === undefined ? {} : { onRefused: () => on_refused }),
        ...(refund_from_status === undefined ? {} : { refundWhen: (status) => statuses.push(status) > 0 && status >= refund_from_status }),
      }));
      let handled, found, wanted, gone;
      const handler = async (answer) => {
        [handled, found] = [true, answer ?? null];
        const { status = 200, headers = {}, fails = false, leaves = false, until_renewals = 0 } = wanted;
        if (leaves) await gone.promise;
        if (fails || leaves) throw new Error("the handler fails");
        const renewals = async () => (await stubbed()).filter(({ path }) => path === "/renew").length;
        if (until_renewals > 0) await until(async () => (await renewals()) >= until_renewals);
        return { status, headers };
      };
      const app = await start(client, limits, handler);
      try {
        for (const [nth, { handler: how = {}, expect, after }] of row.requests.entries()) {
          [handled, wanted, gone] = [false, how, deferred()];
          const response = how.leaves ? await leave(app.url, () => handled) : await fetch(app.url);
          const text = await response.text();
          const where = `request ${nth}: ${response.status} ${text} ${JSON.stringify([...response.headers])}`;
          if (!how.leaves) assert.equal(response.status, expect.status, where);
          if (expect.handled !== undefined) assert.equal(handled, expect.handled, where);
          if (expect.body !== undefined) assert.equal(text, expect.body, where);
          if (expect.code !== undefined) assert.equal(JSON.parse(text).code, expect.code, where);
          if (expect.answer === null) assert.equal(found, null, where);
          for (const [name, value] of Object.entries(expect.answer ?? {})) {
            assert.equal(name === "leases" ? found.leases.length : found[name], value, `${where}: ${name}`);
          }
          for (const [name, value] of Object.entries(expect.headers ?? {})) {
            // Frameworks add a charset.
            compare(response.headers.get(name)?.replace(/; charset=.*$/, "") ?? null, value, `${where}: ${name}`);
          }
          if (after !== undefined) await until(async () => passes(await gate.peek("conformance", attributesOf(after.attributes)), after.expect));
          gone.resolve();
        }
        if (row.decisions !== undefined) assert.deepEqual(decisions, row.decisions);
        if (row.refund_statuses !== undefined) assert.deepEqual(statuses, row.refund_statuses);
        if (row.last !== undefined) {
          const { path, lease } = row.last;
          await until(async () => passes((await stubbed()).at(-1), { path }));
          assert.equal((await stubbed()).at(-1).body.lease, lease);
        }
      } finally {
        await app.close();
      }
    });
  }
}

/** Sends a request, and goes away as soon as the handler works for it. There is no response to compare. */
async function leave(url, handled) {
  const away = new AbortController();
  const request = fetch(url, { signal: away.signal }).catch(() => Response.error());
  await until(async () => handled());
  away.abort();
  return request;
}

function deferred() {
  const parts = {};
  parts.promise = new Promise((resolve) => (parts.resolve = resolve));
  return parts;
}

function passes(found, wanted) {
  return Object.entries(wanted).every(([name, value]) => found?.[name] === value);
}

function compare(found, wanted, where) {
  if (Array.isArray(wanted)) {
    const items = found?.split(", ") ?? [];
    assert.equal(items.length, wanted.length, where);
    for (const [at, text] of wanted.entries()) assert(items[at].startsWith(text), where);
  } else if (typeof wanted?.min === "number") {
    assert(Number(found) >= wanted.min && Number(found) <= wanted.max, where);
  } else {
    assert.equal(found, wanted, where);
  }
}

async function until(condition) {
  const deadline = Date.now() + GENEROUS_MS;
  while (!(await condition())) {
    assert(Date.now() < deadline, "too late");
    await setTimeout(5);
  }
}

async function onExpress(client, limits, handler) {
  const app = express();
  app.get("/", limits.map((limit) => forExpress.weir(client, limit)), async (request, response) => {
    const { status, headers } = await handler(request.weir);
    response.set(headers).status(status).send("fine");
  });
  app.use((error, request, response, next) => response.status(500).send(error.message));
  return listen(createServer(app));
}

async function onFastify(client, limits, handler) {
  const app = fastify();
  app.get("/", { preHandler: limits.map((limit) => forFastify.weir(client, limit)) }, async (request, reply) => {
    const { status, headers } = await handler(request.weir);
    return reply.headers(headers).code(status).send("fine");
  });
  return { url: await app.listen({ port: 0, host: "127.0.0.1" }), close: () => app.close() };
}

async function onHono(client, limits, handler) {
  const app = new Hono();
  for (const limit of limits) app.use(forHono.weir(client, limit));
  app.get("/", async (context) => {
    const { status, headers } = await handler(context.get("weir"));
    return context.text("fine", status, headers);
  });
  app.onError((error, context) => context.text(error.message, 500));
  return serving(app.fetch);
}

function onNext(client, limits, handler) {
  const inner = async (request) => new Response("fine", await handler(answerOf(request)));
  const outer = limits.reduceRight((wrapped, limit) => forNext.limited(client, limit, wrapped), inner);
  return serving((request) => outer(request, {}));
}

async function serving(fetch) {
  const server = serve({ fetch, port: 0, hostname: "127.0.0.1", overrideGlobalObjects: false });
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => closing(server) };
}

function onNest(client, limits, handler) {
  return nest(handler, [], (...decorated) => UseGuards(...limits.map((limit) => forNest.weirGuard(client, limit)))(...decorated));
}

/** The first limit is the module's, the others the route's. */
function onNestModule(client, [outer, ...limits], handler) {
  const module = forNest.WeirModule.forRootAsync({ useFactory: async () => ({ client, limits: [outer] }) });
  return nest(handler, [module], (...decorated) => {
    for (const limit of limits.toReversed()) forNest.Limit(limit)(...decorated);
  });
}

async function nest(handler, imports, decorate) {
  class Routes {
    async get(request, response) {
      const { status, headers } = await handler(request.weir);
      response.set(headers).status(status).send("fine");
    }
  }
  const decorated = [Routes.prototype, "get", Object.getOwnPropertyDescriptor(Routes.prototype, "get")];
  Get()(...decorated);
  decorate(...decorated);
  Req()(Routes.prototype, "get", 0);
  Res()(Routes.prototype, "get", 1);
  Controller()(Routes);
  class App {}
  const providers = imports.length > 0 ? [{ provide: APP_GUARD, useExisting: forNest.WeirGuard }] : [];
  Module({ imports, controllers: [Routes], providers })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, "127.0.0.1");
  return { url: await app.getUrl(), close: () => app.close() };
}

async function listen(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => closing(server) };
}

function closing(server) {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
}

import "reflect-metadata";

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { serve } from "@hono/node-server";
import { Controller, Get, Module, Req, Res, UseGuards } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";

import * as forExpress from "../dist/express.js";
import * as forFastify from "../dist/fastify.js";
import * as forHono from "../dist/hono.js";
import { Weir } from "../dist/index.js";
import * as forNest from "../dist/nest.js";
import * as forNext from "../dist/next.js";
import { GATE, GENEROUS_MS, KEY, RUN, closedPort } from "./support.mjs";

const settings = { key: KEY, timeoutMs: GENEROUS_MS };
const gate = new Weir({ ...settings, url: GATE, onError: "deny", cacheSize: 0 });
const deny = new Weir({ ...settings, url: await closedPort(), onError: "deny" });
const allow = new Weir({ ...settings, url: await closedPort(), onError: "allow" });

/** Starts a server with the same routes in each framework; returns its address and how to stop it. */
const frameworks = { express: onExpress, fastify: onFastify, hono: onHono, next: onNext, nest: onNest };

for (const [name, start] of Object.entries(frameworks)) {
  test(`${name}: passes, refuses, leaves failures to onError, refunds, and cannot be deceived`, async () => {
    const user = (what) => `${name}-${what}-${RUN}`;
    const options = (attributes, more = {}) => ({ namespace: "conformance", attributes, ...more });
    const seen = [];
    const { url, close } = await start({
      limited: [gate, options((request, { ip, route }) => {
        seen.push([ip(request), route(request)]);
        return { suite: "window", user: user("limited") };
      })],
      denied: [deny, options(() => ({}))],
      allowed: [allow, options(() => ({}))],
      // A value that the gate would refuse, as an attacker would send it.
      long: [gate, options((request, { header }) => ({ suite: "window", user: header(request, "x-user") + "\u0085" }))],
      login: [gate, options(() => ({ suite: "window", user: user("login") }), { refundWhen: (status) => status < 300 })],
      skipped: [gate, options(() => null)],
    });
    try {
      const spoofed = { "x-forwarded-for": "1.1.1.1", "x-user": `${user("long")}${"x".repeat(600)}` };
      const get = (path) => fetch(`${url}${path}`, { headers: spoofed });
      const statuses = async (path, times) => {
        const all = [];
        for (let nth = 0; nth < times; nth += 1) {
          const response = await get(path);
          await response.arrayBuffer();
          all.push(response.status);
        }
        return all;
      };
      const first = await get("/limited/7");
      assert.equal(first.status, 200);
      assert.equal(first.headers.get("x-ratelimit-remaining"), "1");
      assert.equal(first.headers.get("ratelimit-policy"), '"window";q=2;w=3600');
      assert.equal(await first.text(), "fine");
      assert.deepEqual(await statuses("/limited/8", 1), [200]);
      const refused = await get("/limited/9");
      assert.equal(refused.status, 429);
      assert.match(refused.headers.get("content-type"), /^application\/problem\+json/);
      assert(Number(refused.headers.get("retry-after")) > 3000);
      const body = await refused.json();
      assert.deepEqual([body.code, body.status], ["rate_limited", 429]);
      assert(body.retry_after_ms > 3_000_000);
      const address = name === "next" ? "1.1.1.1" : "127.0.0.1";
      assert.deepEqual(seen, Array(3).fill([address, name === "next" ? "/limited/[id]" : "/limited/:id"]));

      const unavailable = await get("/denied");
      assert.equal(unavailable.status, 503);
      assert.equal(unavailable.headers.get("retry-after"), "1");
      assert.equal((await unavailable.json()).code, "rate_limit_unavailable");
      assert.deepEqual(await statuses("/allowed", 3), [200, 200, 200]);
      assert.deepEqual(await statuses("/skipped", 3), [200, 200, 200]);
      assert.deepEqual(await statuses("/long", 3), [200, 200, 429]);

      // Only the failures count: each success returns its unit, which the next peek shows.
      const peek = async () => (await gate.peek("conformance", { suite: "window", user: user("login") })).remaining;
      assert.deepEqual(await statuses("/login?ok", 1), [200]);
      await until(async () => (await peek()) === 1);
      assert.deepEqual(await statuses("/login?wrong", 3), [401, 401, 429]);
    } finally {
      await close();
    }
  });
}

test("express: route() says how to use it where no route is known", async () => {
  const app = express();
  app.use(forExpress.weir(gate, { namespace: "conformance", attributes: (request) => ({ route: forExpress.route(request) }) }));
  app.use((error, request, response, next) => response.status(500).send(error.message));
  const { url, close } = await listen(createServer(app));
  const response = await fetch(url);
  assert.equal(response.status, 500);
  assert.match(await response.text(), /pass the middleware to the route/);
  await close();
});

test("next, hono: no unit returns if the client goes away before the response begins", async () => {
  for (const kind of ["next", "hono"]) {
    const statuses = [];
    const options = {
      namespace: "conformance",
      attributes: () => ({ suite: "bucket", user: `left-${kind}-${RUN}` }),
      refundWhen: (status) => statuses.push(status) > 0,
    };
    const away = new AbortController();
    const fails = () => {
      away.abort();
      throw away.signal.reason;
    };
    const app = new Hono().use(forHono.weir(gate, options)).get("/", fails).onError((error, context) => context.text(error.message, 500));
    const handler = kind === "hono" ? app.fetch : forNext.limited(gate, options, fails);
    await Promise.allSettled([handler(new Request("http://localhost/", { signal: away.signal }), {})]);
    assert.deepEqual(statuses, [], kind);
  }
});

async function onExpress(routes) {
  const app = express();
  app.set("trust proxy", true);
  const tools = { ip: forExpress.ip, route: forExpress.route, header: (request, name) => request.get(name) };
  for (const [name, [client, options]] of Object.entries(routes)) {
    app.get(pathOf(name), forExpress.weir(client, withTools(options, tools)), (request, response) => {
      response.status("wrong" in request.query ? 401 : 200).send("fine");
    });
  }
  return listen(createServer(app));
}

async function onFastify(routes) {
  const app = fastify({ trustProxy: true });
  const tools = { ip: forFastify.ip, route: forFastify.route, header: (request, name) => request.headers[name] };
  for (const [name, [client, options]] of Object.entries(routes)) {
    const preHandler = forFastify.weir(client, withTools(options, tools));
    app.get(pathOf(name), { preHandler }, async (request, reply) => {
      reply.code("wrong" in request.query ? 401 : 200);
      return "fine";
    });
  }
  return { url: await app.listen({ port: 0, host: "127.0.0.1" }), close: () => app.close() };
}

async function onHono(routes) {
  const app = new Hono();
  const tools = { ip: forHono.ip, route: forHono.route, header: (context, name) => context.req.header(name) };
  for (const [name, [client, options]] of Object.entries(routes)) {
    app.use(`/${name}/*`, forHono.weir(client, withTools(options, tools)));
    app.get(pathOf(name), (context) => context.text("fine", context.req.query("wrong") === undefined ? 200 : 401));
  }
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => closing(server) };
}

/** Route handlers are functions of a `Request`. @hono/node-server makes one of each request, as Next.js does. */
async function onNext(routes) {
  const tools = { ip: (request) => forNext.ip(request, { trustedHops: 1 }), route: () => "/limited/[id]", header: (request, name) => request.headers.get(name) };
  const handlers = Object.fromEntries(
    Object.entries(routes).map(([name, [client, options]]) => {
      const handler = (request) => new Response("fine", { status: new URL(request.url).searchParams.has("wrong") ? 401 : 200 });
      return [name, forNext.limited(client, withTools(options, tools), handler)];
    }),
  );
  const fetch = (request) => handlers[new URL(request.url).pathname.split("/")[1]](request, {});
  const server = serve({ fetch, port: 0, hostname: "127.0.0.1" });
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => closing(server) };
}

async function onNest(routes) {
  const tools = { ip: forNest.ip, route: forNest.route, header: (request, name) => request.headers[name] };
  class Routes {}
  for (const [name, [client, options]] of Object.entries(routes)) {
    Routes.prototype[name] = function (request, response) {
      response.status("wrong" in request.query ? 401 : 200).send("fine");
    };
    const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, name);
    Get(pathOf(name))(Routes.prototype, name, descriptor);
    UseGuards(forNest.weirGuard(client, withTools(options, tools)))(Routes.prototype, name, descriptor);
    Req()(Routes.prototype, name, 0);
    Res()(Routes.prototype, name, 1);
  }
  Controller()(Routes);
  class App {}
  Module({ controllers: [Routes] })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, "127.0.0.1");
  return { url: await app.getUrl(), close: () => app.close() };
}

/** The options with an `attributes` that also gets the framework's helpers. */
function withTools(options, tools) {
  return { ...options, attributes: (request) => options.attributes(request, tools) };
}

function pathOf(name) {
  return name === "limited" ? "/limited/:id" : `/${name}`;
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

async function until(condition) {
  const deadline = Date.now() + GENEROUS_MS;
  while (!(await condition())) assert(Date.now() < deadline, "too late");
}

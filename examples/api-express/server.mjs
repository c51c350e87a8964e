// A public API behind nginx: a limit for each customer with a key, and one for each address and route without a key.

import { createHash } from "node:crypto";

import { Weir } from "@weir-ratelimit/client";
import { ip, route, weir as limit } from "@weir-ratelimit/client/express";
import express from "express";

const weir = new Weir({
  url: process.env.WEIR_GATE_URL,
  key: process.env.WEIR_KEY,
  // The API answers 503 while Weir is away. "allow" would serve everybody without limits.
  onError: "deny",
  timeoutMs: 5_000,
  onDegraded: (error) => console.error("no decision:", error.message),
});

/** Digests of the keys of customers, which a real API has in its database. */
const customers = new Map([[digest("key-of-ada"), { customer: "ada", plan: "paid" }]]);

const limited = limit(weir, {
  namespace: "public-api",
  attributes: (request) => {
    const known = customers.get(digest(request.get("x-api-key") ?? ""));
    // nginx is one hop: the address that it saw counts, whatever the client wrote into the header before.
    const address = { ip: ip(request, { trustedHops: 1 }), route: route(request) };
    return known ?? { plan: "none", ...address };
  },
});

const app = express();
app.get("/", (request, response) => response.send("GET /quotes/1"));
app.get("/quotes/:id", limited, (request, response) => response.json({ id: request.params.id, text: "Simplicity is prerequisite for reliability." }));
app.get("/authors/:id", limited, (request, response) => response.json({ id: request.params.id, name: "E. W. Dijkstra" }));
app.listen(Number(process.env.PORT), "127.0.0.1");

function digest(key) {
  return createHash("sha256").update(key).digest("hex");
}

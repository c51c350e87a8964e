/** Whether a request may pass, and if not, the seconds to wait. */
async function check(attributes: Record<string, string>, cost = 1) {
  const answer = await fetch(«URL», {
    method: "POST",
    headers: {
      Authorization: «BEARER»,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ namespace: «NAMESPACE», attributes, cost }),
    signal: AbortSignal.timeout(2000),
  });
  if (answer.status !== 200 && answer.status !== 429) {
    throw new Error(`${answer.status}: ${await answer.text()}`);
  }
  return { allowed: answer.status === 200, waitS: answer.headers.get("Retry-After") };
}

const { allowed, waitS } = await check({ «ATTRIBUTES» }, «COST»);
console.log(allowed ? "allowed" : `denied, again in ${waitS ?? "no"} s`);

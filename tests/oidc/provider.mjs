// A provider of OpenID Connect (oidc-provider). Each person signs in with the name of an account, without a password.
//
// Argument: the port (0 for any). The client can have any redirect address. The server prints its issuer.
import { createServer } from "node:http";

import { Provider } from "oidc-provider";

const [port] = process.argv.slice(2);

const PAGE = `<!doctype html><html lang="en"><title>Example ID</title><form method="post">
<label>Account <input name="login" required></label> <button>Continue</button></form></html>`;

/** The e-mail address is that of the account's name, unless the name says that it is another or not verified. */
async function findAccount(_, id) {
    const claims = {
        sub: id,
        name: `Person ${id}`,
        email: id.startsWith("unverified-") ? `${id.slice(11)}@example.com` : `${id.replace(/^other-/, "")}@example.com`,
        email_verified: !id.startsWith("unverified-"),
    };
    return { accountId: id, claims: async () => claims };
}

const server = createServer();
server.listen(Number(port), "127.0.0.1", () => {
    const issuer = `http://127.0.0.1:${server.address().port}`;
    const provider = new Provider(issuer, {
        clients: [
            {
                client_id: "weir",
                client_secret: "a-secret-of-the-test-with-32-bytes",
                redirect_uris: ["https://limits.example.com/api/v1/auth/oidc/callback"],
                response_types: ["code"],
                grant_types: ["authorization_code"],
            },
        ],
        claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
        cookies: { keys: ["a key of the test"] },
        features: { devInteractions: { enabled: false } },
        interactions: { url: (_, { uid }) => `/interaction/${uid}` },
        findAccount,
        pkce: { required: () => true },
    });
    provider.Client.prototype.redirectUriAllowed = () => true;
    const answer = provider.callback();
    server.on("request", (request, response) => {
        if (request.url === "/favicon.ico") return response.writeHead(204).end();
        if (request.url.startsWith("/interaction/")) return interact(provider, request, response);
        return answer(request, response);
    });
    console.log(issuer);
});

/** The page on which a person signs in and consents. */
async function interact(provider, request, response) {
    const { params } = await provider.interactionDetails(request, response);
    if (request.method === "GET") {
        response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
        response.end(PAGE);
        return;
    }
    let body = "";
    for await (const chunk of request) body += chunk;
    const accountId = new URLSearchParams(body).get("login");
    const grant = new provider.Grant({ accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    const result = { login: { accountId }, consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result);
}

// A real receiver of webhooks.
import { createServer } from "node:http";

/** Starts a receiver, which answers with `status`. */
export async function receive() {
    const [messages, waiting] = [[], []];
    const receiver = { status: 200 };
    const server = createServer(async (request, response) => {
        let body = "";
        for await (const part of request) body += part;
        const { status } = receiver;
        response.writeHead(status).end("thank you");
        const message = { headers: request.headers, url: request.url, body, status };
        const next = waiting.shift();
        if (next) next(message);
        else messages.push(message);
    });
    await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
    receiver.url = `http://127.0.0.1:${server.address().port}/hook`;
    /** The next message, in order of arrival. */
    receiver.next = () => {
        if (messages.length > 0) return Promise.resolve(messages.shift());
        return new Promise((got, fail) => {
            const late = setTimeout(() => fail(new Error("nothing was received")), 60_000);
            waiting.push((message) => {
                clearTimeout(late);
                got(message);
            });
        });
    };
    /** The next message for which `holds` returns true. */
    receiver.nextOf = async (holds) => {
        for (;;) {
            const message = await receiver.next();
            if (holds(message)) return message;
        }
    };
    receiver.close = () => server.close();
    return receiver;
}

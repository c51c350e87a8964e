import type { Admission } from "./middleware.js";

/** What Node.js' responses have. */
interface NodeResponse {
  once(event: "finish" | "close", listener: () => void): unknown;
  statusCode: number;
  headersSent?: boolean;
  /** Whether `close` was emitted. */
  destroyed?: boolean;
}

/** Settles when a response of Node.js has ended, or its client has gone away. */
export function settleAfter(response: NodeResponse, settle: Admission["settle"]): void {
  response.once("finish", () => void settle(response.statusCode));
  response.once("close", () => void settle(response.headersSent ? response.statusCode : null));
  // The client went away during the check.
  if (response.destroyed) void settle(null);
}

/** Settles when the client of a request of `fetch`'s kind goes away. */
export function settleIfAway(request: Request, admission: Admission): void {
  if (!admission.pending) return;
  const settle = () => void admission.settle(admission.status);
  request.signal.addEventListener("abort", settle, { once: true });
  if (request.signal.aborted) settle();
}

/**
 * Settles a response of `fetch`'s kind: with leases when its body has been read or abandoned, otherwise at once. A refund is not left until
 * later, because some platforms end with the response.
 */
export async function settleResponse(response: Response, admission: Admission): Promise<Response> {
  const { answer, settle } = admission;
  const { status, body } = response;
  admission.status = status;
  if (!answer?.leases.length || body === null) {
    await settle(status);
    return response;
  }
  const reader = body.getReader();
  const watched = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        await settle(status);
        controller.close();
      } catch (error) {
        void settle(status);
        controller.error(error);
      }
    },
    cancel(reason) {
      void settle(status);
      return reader.cancel(reason);
    },
  });
  return new Response(watched, response);
}

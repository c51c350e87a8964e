"""A mail server that accepts all mail and discards it."""

import contextlib
import socketserver
import threading

REPLIES = {"DATA": "354 go ahead", "QUIT": "221 bye"}


class Session(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.reply("220 ready")
        for line in self.rfile:
            command = line.decode("latin-1").strip()[:4].upper()
            self.reply(REPLIES.get(command, "250 OK"))
            if command == "DATA":
                while self.rfile.readline() not in (b".\r\n", b""):
                    pass
                self.reply("250 accepted")
            if command == "QUIT":
                return

    def reply(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextlib.contextmanager
def serve():
    """The value is the address."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield "{}:{}".format(*server.server_address)
        server.shutdown()

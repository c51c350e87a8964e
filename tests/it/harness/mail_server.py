"""An SMTP server (aiosmtpd) that writes each message as a JSON file.

Arguments: the folder of the messages, the file of a certificate and its key ("" for none), and USER:PASSWORD ("" for anyone). The
server prints its port.
"""

import asyncio
import json
import os
import ssl
import sys
from email import message_from_bytes
from email.policy import default

from aiosmtpd.smtp import SMTP, AuthResult

FOLDER, CERTIFICATE, LOGIN = sys.argv[1:]


class Handler:
    """Accepts every message, except those to `refused@`."""

    count = 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("refused@"):
            return "550 5.1.1 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 ok"

    async def handle_DATA(self, server, session, envelope):
        message = message_from_bytes(envelope.content, policy=default)
        letter = {
            "sender": envelope.mail_from,
            "recipients": envelope.rcpt_tos,
            "encrypted": session.ssl is not None,
            "user": session.auth_data,
            "headers": {name.lower(): str(value) for name, value in message.items()},
            "text": message.get_content(),
        }
        Handler.count += 1
        path = os.path.join(FOLDER, f"{Handler.count:06}.json")
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(letter, file)
        os.rename(path + ".part", path)
        return "250 2.0.0 accepted"


def authenticate(server, session, envelope, mechanism, data):
    given = f"{data.login.decode()}:{data.password.decode()}"
    return AuthResult(success=given == LOGIN, auth_data=data.login.decode())


def protocol():
    context = None
    if CERTIFICATE:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(CERTIFICATE)
    return SMTP(
        Handler(),
        hostname="mail.test",
        enable_SMTPUTF8=True,
        tls_context=context,
        require_starttls=False,
        auth_required=bool(LOGIN),
        auth_require_tls=False,
        authenticator=authenticate if LOGIN else None,
    )


async def serve():
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(serve())

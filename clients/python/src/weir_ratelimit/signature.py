"""The signature of the messages that Weir sends to webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Mapping

SIGNATURES_MAX = 8
"""More than Weir sends: one, and two while a secret is replaced."""


def is_from_weir(
    secret: str, headers: Mapping[str, str], body: bytes | str, *, tolerance_s: float = 300, now_s: float | None = None
) -> bool:
    """Whether Weir sent this message (a deferred job or an alert) lately and nobody changed it: whether one of its signatures was made with the
    secret of the webhook. `body` is what arrived, not yet parsed. A message can arrive twice: remember its `webhook-id`.

    tolerance_s: the greatest difference between the clocks. now_s: seconds since 1970; the clock of the system if not given. For tests.
    """
    key = _bytes_of(secret.removeprefix("whsec_"))
    if not key:
        raise ValueError("secret: the secret of a webhook is needed")
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    message_id, timestamp, signatures = (headers.get(name) for name in names)
    if message_id is None or timestamp is None or signatures is None or not re.fullmatch("[0-9]{1,15}", timestamp, re.ASCII):
        return False
    if abs((time.time() if now_s is None else now_s) - int(timestamp)) > tolerance_s:
        return False
    content = body.encode() if isinstance(body, str) else body
    expected = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + content, hashlib.sha256)
    given = [one[3:] for one in signatures.split(" ")[:SIGNATURES_MAX] if one.startswith("v1,")]
    return any(hmac.compare_digest(expected, _bytes_of(one) or b"") for one in given)


def _bytes_of(text: str) -> bytes | None:
    """The bytes of a text in base64; None if it is another one."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None

"""The signature of messages, with one that Weir sent."""

import base64
import json
import time
import unittest
import urllib.request

from support import GATE, GENEROUS_MS, KEY, RUN, STUB, WEBHOOK, WEBHOOK_SECRET
from weir_ratelimit import Weir, is_from_weir


class Signature(unittest.TestCase):
    def test_message_of_a_deferred_job_is_recognised_and_nothing_else_is(self) -> None:
        payload = {"to": "Zoë", "pages": [1, 2]}
        with Weir(GATE, KEY, on_error="deny", timeout_ms=GENEROUS_MS) as weir:
            job = weir.defer("conformance", {}, target=WEBHOOK, payload=payload, idempotency_key=f"signed-{RUN}").job
        headers, body = message(job.id)
        data = json.loads(body)["data"]
        self.assertEqual((data["deferred"], data["payload"]), (job.id, payload))

        sent, given = int(headers["webhook-timestamp"]), headers["webhook-signature"]
        self.assertTrue(is_from_weir(WEBHOOK_SECRET, headers, body.encode()))
        self.assertTrue(is_from_weir(WEBHOOK_SECRET, headers, body, now_s=sent + 300))
        self.assertTrue(is_from_weir(WEBHOOK_SECRET, {**headers, "webhook-signature": f"v1,AAAA {given}"}, body))
        other = "whsec_" + base64.b64encode(bytes(32)).decode()
        wrong = [
            (other, {}, body), (WEBHOOK_SECRET, {}, body + " "), (WEBHOOK_SECRET, {"webhook-id": "deferred_x"}, body),
            *((WEBHOOK_SECRET, {"webhook-timestamp": time_}, body) for time_ in (str(sent + 1), f"{sent}.0", "", "²", "-1", None)),
            *((WEBHOOK_SECRET, {"webhook-signature": one}, body) for one in (
                "", "v1,", "v1,%%%", "v1,é", given.replace("v1,", "v2,"), "v1,AAAA " * 8 + given, None,
            )),
        ]
        for secret, changed, content in wrong:
            with self.subTest(changed):
                self.assertFalse(is_from_weir(secret, {**headers, **changed}, content, now_s=sent))
        for now_s in (sent - 301, sent + 301):
            self.assertFalse(is_from_weir(WEBHOOK_SECRET, headers, body, now_s=now_s))
        for secret in ("", "whsec_", "whsec_%"):
            with self.assertRaisesRegex(ValueError, "secret"):
                is_from_weir(secret, headers, body)

    def test_signature_is_that_of_standard_webhooks(self) -> None:
        headers = {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        self.assertTrue(is_from_weir(secret, headers, b'{"test": 2432232314}', now_s=1_614_265_330))


def message(job_id: str) -> tuple[dict, str]:
    """The message of a job that the stub received."""
    deadline = time.monotonic() + GENEROUS_MS / 1000
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"{STUB}/webhook/{job_id}") as response:
            found = json.load(response)
        if found is not None:
            return found["headers"], found["body"]
        time.sleep(0.005)
    raise AssertionError("the job never arrived")


if __name__ == "__main__":
    unittest.main()

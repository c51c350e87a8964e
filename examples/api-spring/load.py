"""Sends mails of one user, and counts the answers: load.py [URL [MAILS]]."""

import collections
import sys
import urllib.error
import urllib.request


def send(url: str, user: str) -> int:
    request = urllib.request.Request(f"{url}/api/send-email", b"", {"x-user": user})
    try:
        with urllib.request.urlopen(request) as response:
            return response.status
    except urllib.error.HTTPError as refused:
        return refused.code


url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
mails = int(sys.argv[2]) if len(sys.argv) > 2 else 20
print(dict(collections.Counter(send(url, "ann") for _ in range(mails))))

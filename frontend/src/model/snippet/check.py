import json
import urllib.error
import urllib.request


def check(attributes, cost=1):
    """Whether a request may pass, and if not, the seconds to wait."""
    body = {"namespace": «NAMESPACE», "attributes": attributes, "cost": cost}
    request = urllib.request.Request(
        «URL»,
        data=json.dumps(body).encode(),
        headers={
            "Authorization": «BEARER»,
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=2):
            return True, None
    except urllib.error.HTTPError as answer:
        if answer.code == 429:
            return False, answer.headers.get("Retry-After")
        raise


allowed, wait_s = check({«ATTRIBUTES»}, cost=«COST»)
if allowed:
    print("allowed")
else:
    print("denied, again in", wait_s or "no", "s")

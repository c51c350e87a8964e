"""Makes checks with the client that openapi-python-client generated. The control plane's client must be importable."""

import importlib
import os
import pkgutil

import control
from gate import AuthenticatedClient
from gate.api.checks import check
from gate.models import CheckAnswer, CheckBody, CheckBodyAttributes

for module in pkgutil.walk_packages(control.__path__, "control."):
    importlib.import_module(module.name)
attributes = CheckBodyAttributes.from_dict({"suite": "window", "user": f"generated-py-{os.getpid()}"})
body = CheckBody(namespace="conformance", attributes=attributes, cost=2)
client = AuthenticatedClient(base_url=os.environ["WEIR_GATE_URL"], token=os.environ["WEIR_KEY"])
for allowed in (True, False):
    answer = check.sync(client=client, body=body)
    assert isinstance(answer, CheckAnswer), answer
    assert (answer.allowed, answer.remaining, answer.limits[0].rule) == (allowed, 0, "window"), answer

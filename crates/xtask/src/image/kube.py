"""Prints objects of the chart as `podman play kube` can run them: kube.py (migrate|planes|test) SECRETS

The containers stay as the chart has them. Only what podman 4.3 cannot do is changed: it publishes every port that a pod
names on one host, it has no process that runs probes, it ignores the mode of a Secret's files, and it knows neither Jobs nor the
names of Services. SECRETS has a directory for each Secret. The gate is expected at 10.89.7.1, on its own port.
"""

import sys

import helm_python as helm
import yaml

VALUES = {
    "image": {"repository": "localhost/weir", "tag": "latest", "pullPolicy": "Never"},
    "settings": {"WEIR_DATABASE_INSECURE": "on"},
    "drainMs": 0,
    "control": {"replicas": 1},
    "gate": {"replicas": 1},
    "test": {"apiKey": {"existingSecret": "weir-test"}},
}


def main(part, secrets):
    rendered = helm.Chart.load("deploy/chart").render(VALUES, name="weir", namespace="limits")
    texts = [text for path, text in rendered.items() if not path.endswith(".txt")]
    objects = [thing for text in texts for thing in yaml.safe_load_all(text) if thing]
    of = lambda kind: [thing for thing in objects if thing["kind"] == kind]
    if part == "migrate":
        chosen = [pod_of(job) for job in of("Job")]
    elif part == "planes":
        chosen = [*of("ConfigMap"), *of("Deployment")]
    else:
        chosen = of("Pod")
    for thing in chosen:
        if thing["kind"] != "ConfigMap":
            spec = thing["spec"]["template"]["spec"] if thing["kind"] == "Deployment" else thing["spec"]
            adapt(spec, secrets)
    print(yaml.safe_dump_all(chosen))


def pod_of(job):
    template = job["spec"]["template"]
    metadata = {"name": job["metadata"]["name"], "labels": template["metadata"]["labels"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def adapt(spec, secrets):
    for container in spec["containers"]:
        container["ports"] = [port for port in container.get("ports", []) if port["name"] == "http"]
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            container.pop(probe, None)
        for variable in container.get("env", []):
            variable["value"] = {"GATE": "10.89.7.1", "PORT": "8081"}.get(variable["name"], variable["value"])
    for volume in spec.get("volumes", []):
        if "secret" in volume:
            secret = volume.pop("secret")
            assert all(item["key"] == item["path"] for item in secret["items"])
            volume["hostPath"] = {"path": f"{secrets}/{secret['secretName']}", "type": "Directory"}


main(*sys.argv[1:])

"""Checks deploy/chart. Run by `cargo xtask chart` in the root of the tree.

Reading order: `main`, then one function for each kind of check. A check adds to `faults`, so one run reports all of them.
"""

import functools
import json
import pathlib
import re
import sys

import helm_python as helm
import jsonschema
import kubernetes_validate
import kubernetes_validate.utils
import yaml

ROOT = pathlib.Path.cwd()
CHART = ROOT / "deploy/chart"
# The oldest release that Chart.yaml permits, and the newest whose schemas are known.
VERSIONS = ["1.27", "1.37"]
OPERATOR = "monitoring.coreos.com/v1"
# The drain of requests in flight, in weir-http.
DRAIN_S = 20
faults = []


def main():
    chart = helm.Chart.load(CHART)
    cases = {"defaults": {}}
    for file in sorted((CHART / "ci").glob("*.yaml")):
        if file.name != "refused.yaml":
            cases[file.name] = yaml.safe_load(file.read_text())
    validated = 0
    for case, values in cases.items():
        lint(case, values)
        # The second release does not contain the chart's name, and its names get longer.
        for release in ["weir", "limits-of-the-shop"]:
            objects = render(chart, case, values, release)
            for thing in objects:
                validate(f"{case}: {release}", thing)
            coherent(f"{case}: {release}", objects)
            validated += len(objects)
    refused(chart)
    same_files()
    documented()
    oldest_version()
    for fault in faults:
        print(f"   {fault}")
    print(f"   {len(cases)} sets of values, {validated} objects, Kubernetes {' and '.join(VERSIONS)}")
    sys.exit(1 if faults else 0)


def require(holds, fault):
    if not holds:
        faults.append(fault)


def lint(case, values):
    report = helm.lint(CHART, values, strict=True)
    # Severity 1 is a hint, such as the one that a chart has no icon.
    for message in report["messages"]:
        require(message["severity"] < 2, f"{case}: {message['path']}: {message['error']}")
    for error in report["errors"]:
        faults.append(f"{case}: {error}")


def render(chart, case, values, release):
    objects = []
    for path, text in chart.render(values, name=release, namespace="limits").items():
        if path.endswith(".txt"):
            require("user" in text and "--overrides" in text, f"{case}: the notes name no first user")
            continue
        objects.extend(thing for thing in yaml.safe_load_all(text) if thing)
    names = [(thing["kind"], thing["metadata"]["name"]) for thing in objects]
    for name in names:
        require(names.count(name) == 1, f"{case}: {release}: {name} exists twice")
    return objects


@functools.cache
def schema_contents(filename, version, read=kubernetes_validate.utils.schema_contents):
    return read(filename, version)


# The definitions are large, and the library would read them for each object.
kubernetes_validate.utils.schema_contents = schema_contents


def validate(case, thing):
    name = f"{case}: {thing['kind']} {thing['metadata']['name']}"
    if thing["apiVersion"] == OPERATOR:
        definitions = json.loads((ROOT / "crates/xtask/src/chart/operator.json").read_text())
        schema = {**definitions, "$ref": f"#/$defs/{thing['kind']}"}
        for error in jsonschema.Draft202012Validator(schema).iter_errors(thing):
            faults.append(f"{name}: {error.json_path}: {error.message}")
        return
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(thing, version, strict=True)
        except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
            path = ".".join(map(str, getattr(error, "path", [])))
            faults.append(f"{name}: Kubernetes {version}: {path}: {error.message}")


def coherent(case, objects):
    """What no schema states: security, probes, shutdown, selectors, secrets."""
    pods, ports = {}, {}
    for thing in objects:
        name = f"{case}: {thing['kind']} {thing['metadata']['name']}"
        template = thing["spec"]["template"] if thing["kind"] in WORKLOADS else thing
        if thing["kind"] in (*WORKLOADS, "Pod"):
            pods[name] = template["metadata"]["labels"]
            containers = template["spec"]["containers"]
            ports[name] = {port["name"] for container in containers for port in container.get("ports", [])}
            restricted(name, template["spec"])
            own_secrets(name, template)
        if thing["kind"] in ("Deployment", "StatefulSet"):
            selector = thing["spec"]["selector"]["matchLabels"]
            require(selector.items() <= template["metadata"]["labels"].items(), f"{name}: selects other pods")
            serves(name, template["spec"], objects)
    for thing in objects:
        name = f"{case}: {thing['kind']} {thing['metadata']['name']}"
        selector = selector_of(thing)
        if selector is not None:
            found = [pod for pod, labels in pods.items() if selector.items() <= labels.items()]
            require(len(found) == 1, f"{name}: selects {found}")
            for pod in found:
                reaches(name, thing, ports[pod])
    rate_limit_service(case, objects)
    region(case, objects)


WORKLOADS = ("Deployment", "StatefulSet", "Job")


def selector_of(thing):
    spec = thing.get("spec", {})
    return {
        "Service": lambda: spec["selector"],
        "PodDisruptionBudget": lambda: spec["selector"]["matchLabels"],
        "NetworkPolicy": lambda: spec["podSelector"]["matchLabels"],
    }.get(thing["kind"], lambda: None)()


def reaches(name, thing, ports):
    """The ports that a Service leads to and a NetworkPolicy permits are ports of the pod."""
    spec = thing["spec"]
    wanted = {
        "Service": lambda: {port["targetPort"] for port in spec["ports"]},
        "NetworkPolicy": lambda: {port["port"] for rule in spec.get("ingress", []) for port in rule["ports"]},
    }.get(thing["kind"], set)()
    require(wanted <= ports, f"{name}: leads to {wanted - ports}")
    if thing["kind"] == "NetworkPolicy":
        require(ports <= wanted, f"{name}: nobody reaches {ports - wanted}")


def rate_limit_service(case, objects):
    """If the gates listen for Envoy, their Services have the port, and otherwise nothing does."""
    gates = [thing for thing in objects if thing["metadata"]["name"].endswith(("-gate", "-gate-headless"))]
    served = any("WEIR_RLS_ADDR" in thing["data"] for thing in gates if thing["kind"] == "ConfigMap")
    for thing in gates:
        if thing["kind"] == "Service":
            named = any(port["name"] == "grpc-rls" for port in thing["spec"]["ports"])
            require(named == served, f"{case}: Service {thing['metadata']['name']}: has the port of Envoy: {named}")


def region(case, objects):
    """Gates in a region have everything that Weir then needs, and a Service of their own; other gates have none of it."""
    data = next(o["data"] for o in objects if o["kind"] == "ConfigMap" and o["metadata"]["name"].endswith("-gate"))
    needed = {"WEIR_REGION", "WEIR_INTERNAL_ADDR", "WEIR_REGION_BUDGET_MS", "WEIR_REGION_KEY_FILE"}
    wanted = needed if "WEIR_REGION" in data else set()
    require(needed & data.keys() == wanted, f"{case}: the settings of the region are {needed & data.keys()}")
    require("WEIR_TLS_CERT_FILE" in data or not wanted, f"{case}: the internal listener has no certificate")
    services = [o for o in objects if o["kind"] == "Service" and o["metadata"]["name"].endswith("-gate-region")]
    require(len(services) == bool(wanted), f"{case}: {len(services)} Services for other regions")


def restricted(name, spec):
    """The Pod Security Standard "restricted", and what Weir adds to it."""
    pod = spec["securityContext"]
    require(pod["runAsNonRoot"] is True and pod["runAsUser"] == 10001, f"{name}: runs as root")
    require(pod["seccompProfile"] == {"type": "RuntimeDefault"}, f"{name}: has no seccomp profile")
    require(spec["automountServiceAccountToken"] is False, f"{name}: gets a token")
    require(spec["enableServiceLinks"] is False, f"{name}: gets variables of services")
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        require(key not in spec, f"{name}: has {key}")
    for container in spec["containers"]:
        security = container["securityContext"]
        require(security["allowPrivilegeEscalation"] is False, f"{name}: can gain privileges")
        require(security["readOnlyRootFilesystem"] is True, f"{name}: can write to its image")
        require(security["capabilities"] == {"drop": ["ALL"]}, f"{name}: has capabilities")
        require("memory" in container["resources"]["limits"], f"{name}: has no limit of memory")
    for volume in spec.get("volumes", []):
        require(not {"hostPath"} & volume.keys(), f"{name}: mounts a directory of the node")
        if "secret" in volume:
            require(volume["secret"]["defaultMode"] == 0o440, f"{name}: a secret is readable for everyone")


def own_secrets(name, template):
    """A plane mounts no secret of another one, and no secret is a variable."""
    component = template["metadata"]["labels"]["app.kubernetes.io/component"]
    mounted = {volume["name"] for volume in template["spec"].get("volumes", []) if "secret" in volume}
    permitted = {
        "control": {"plane", "redis", "database-ca", "tls"},
        "gate": {"plane", "redis", "database-ca", "tls"},
        "migrate": {"owner", "database-ca"},
        "test": {"key"},
    }[component]
    require(mounted <= permitted, f"{name}: mounts {mounted - permitted}")
    keys = {
        item["key"]
        for volume in template["spec"].get("volumes", [])
        if volume["name"] == "plane"
        for item in volume["secret"]["items"]
    }
    needed = {"control": {"database_url", "jwt_key"}, "gate": {"database_url"}}.get(component, set())
    optional = {"control": {"smtp_url", "oidc_client_secret"}, "gate": {"webhook_key", "region_key"}}.get(component, set())
    require(needed <= keys <= needed | optional, f"{name}: mounts the keys {keys}")
    for container in template["spec"]["containers"]:
        for variable in container.get("env", []):
            require("valueFrom" not in variable, f"{name}: {variable['name']} is a secret in a variable")


def serves(name, spec, objects):
    """Liveness asks the process alone, and the time to stop suffices."""
    container = spec["containers"][0]
    require(container["livenessProbe"]["httpGet"]["path"] == "/healthz", f"{name}: liveness asks more than the process")
    require(container["readinessProbe"]["httpGet"]["path"] == "/readyz", f"{name}: is ready too early")
    ports = {port["name"] for port in container["ports"]}
    settings = container["envFrom"][0]["configMapRef"]["name"]
    data = next(o["data"] for o in objects if o["kind"] == "ConfigMap" and o["metadata"]["name"] == settings)
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        require(container[probe]["httpGet"]["port"] in ports, f"{name}: {probe} asks an unknown port")
    lame_duck_ms = int(data["WEIR_DRAIN_MS"])
    grace_ms = spec["terminationGracePeriodSeconds"] * 1000
    require(grace_ms >= lame_duck_ms + DRAIN_S * 1000 + 5000, f"{name}: is killed while it drains")
    files = {value for key, value in data.items() if key.endswith("_FILE")}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    for file in files:
        folder, _, base = file.rpartition("/")
        items = volumes.get(mounts.get(folder), {}).get("secret", {}).get("items", [])
        require(base in {item["path"] for item in items}, f"{name}: {file} is not mounted")


def refused(chart):
    for case in yaml.safe_load((CHART / "ci/refused.yaml").read_text()):
        try:
            chart.validate_schema(case["values"])
        except helm.HelmError as error:
            require(case["says"] in str(error), f"{case['values']}: refused without naming {case['says']}: {error}")
        else:
            faults.append(f"values.schema.json accepts {case['values']}")


def same_files():
    for name in ("prometheus-alerts.yml", "grafana-dashboard.json"):
        ours, guide = CHART / "files" / name, ROOT / "docs/operate" / name
        require(ours.read_bytes() == guide.read_bytes(), f"cp {guide.relative_to(ROOT)} {ours.relative_to(ROOT)}")


def documented():
    """The table of the guide has each value of values.yaml with its default, and nothing else."""
    values = dict(leaves(yaml.safe_load((CHART / "values.yaml").read_text())))
    page = (ROOT / "docs/operate/kubernetes.md").read_text()
    rows = dict(re.findall(r"^\| `([A-Za-z.]+)` \| .* \| `(.*)` \|$", page, re.MULTILINE))
    for name in values.keys() - rows.keys():
        faults.append(f"docs/operate/kubernetes.md: {name} is missing")
    for name in rows.keys() - values.keys():
        faults.append(f"docs/operate/kubernetes.md: {name} is no value of the chart")
    for name in values.keys() & rows.keys():
        default = yaml.safe_load(rows[name])
        require(default == values[name], f"docs/operate/kubernetes.md: {name} is {values[name]!r} by default")


def leaves(values, prefix=""):
    """The values by their path. Maps whose keys the user chooses are values."""
    for name, value in values.items():
        path = f"{prefix}{name}"
        free = name in ("settings", "labels", "annotations", "podAnnotations", "nodeSelector", "resources", "check")
        if isinstance(value, dict) and not free:
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def oldest_version():
    permitted = yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"]
    require(permitted == f">={VERSIONS[0]}.0-0", f"Chart.yaml permits Kubernetes {permitted}, not from {VERSIONS[0]}")
    # The newest is the newest release for which there are schemas, so an update of these shows here.
    newest = kubernetes_validate.latest_version()
    require(newest.startswith(VERSIONS[1]), f"the newest schemas are those of {newest}")


main()

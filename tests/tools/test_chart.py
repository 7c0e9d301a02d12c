"""The Helm chart and the manifests made from it name real settings, addresses and metrics, and give a pod few rights and time to end.

What needs Helm itself runs where ``make chart`` has installed it.
"""

import re
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
import yaml
from django.urls import resolve
from django.urls.exceptions import Resolver404

from chatui.documents import reading
from chatui.env import Environment
from chatui.sandbox import ProcessLimits
from tests.support.places import ROOT
from tests.tools import chart
from tests.tools.docker_steps import steps

SETTINGS = {f"CHATUI_{name.upper()}" for name in Environment.model_fields}
EVERYTHING = [yaml.safe_load(text) for text in (chart.MANIFESTS / "chatui.yaml").read_text(encoding="utf-8").split("\n---\n")[1:]]
[DEPLOYMENT] = [each for each in EVERYTHING if each["kind"] == "Deployment"]
POD = DEPLOYMENT["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
IMAGE = steps((ROOT / "Dockerfile").read_text(encoding="utf-8"))

with_helm = pytest.mark.skipif(not chart.is_there(), reason="Helm is not installed: make chart does that")


def one(kind: str) -> dict[str, Any]:
    """The only object of this kind."""
    [found] = [each for each in EVERYTHING if each["kind"] == kind]
    return dict(found)


def test_there_is_all_that_several_processes_need() -> None:
    kinds = [each["kind"] for each in EVERYTHING]
    assert sorted(kinds) == ["ConfigMap", "Deployment", "Ingress", "NetworkPolicy", "PodDisruptionBudget", "Service"]
    assert all(each["metadata"]["labels"] == EVERYTHING[0]["metadata"]["labels"] for each in EVERYTHING)


def test_every_setting_that_is_named_anywhere_is_one_of_the_product() -> None:
    files = [*chart.CHART.rglob("*"), *chart.MANIFESTS.glob("*.yaml"), ROOT / "docs/operating/kubernetes.md"]
    text = "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
    named = {*re.findall(r"\bCHATUI_[A-Z0-9]+(?:_[A-Z0-9]+)*\b", text.replace("CHATUI_KEY_…", ""))}
    assert len(named) > 8 and named <= SETTINGS, named - SETTINGS
    assert one("ConfigMap")["data"].keys() | {each["name"] for each in CONTAINER["env"]} <= SETTINGS


def test_what_must_not_be_read_is_in_secrets_and_a_pod_without_them_does_not_start() -> None:
    secrets = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in CONTAINER["env"]}
    assert secrets.keys() == {"CHATUI_SECRET_KEY", "CHATUI_DATABASE_URL", "CHATUI_REDIS_URL"}
    assert not any(reference.get("optional") for reference in secrets.values())
    assert not secrets.keys() & one("ConfigMap")["data"].keys() and not [each for each in EVERYTHING if each["kind"] == "Secret"]


def test_probes_ask_addresses_that_exist_and_an_outage_kills_no_pod() -> None:
    ready, alive = CONTAINER["readinessProbe"]["httpGet"], CONTAINER["livenessProbe"]["httpGet"]
    assert (ready["path"], alive["path"]) == ("/readyz", "/healthz")
    for path in (ready["path"], alive["path"]):
        assert resolve(path)
    with pytest.raises(Resolver404):
        resolve("/nowhere")
    [port] = CONTAINER["ports"]
    assert ready["port"] == alive["port"] == port["name"] == one("Service")["spec"]["ports"][0]["targetPort"]
    assert f"EXPOSE {port['containerPort']}" in IMAGE


def test_a_pod_has_longer_to_end_than_its_answers_have() -> None:
    [_, before] = CONTAINER["lifecycle"]["preStop"]["exec"]["command"]
    drain = int(one("ConfigMap")["data"]["CHATUI_DRAIN_SECONDS"])
    assert drain == Environment.model_fields["drain_seconds"].default
    assert POD["terminationGracePeriodSeconds"] >= int(before) + drain + 10


def test_a_pod_is_the_plain_user_of_the_image_and_has_no_rights() -> None:
    user = next(step for step in IMAGE if step.startswith("USER ")).split()[1]
    assert f"{POD['securityContext']['runAsUser']}:{POD['securityContext']['runAsGroup']}" == user
    assert POD["securityContext"]["runAsNonRoot"] and POD["automountServiceAccountToken"] is False
    rights = CONTAINER["securityContext"]
    assert rights == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    written = {each["mountPath"] for each in CONTAINER["volumeMounts"] if not each.get("readOnly")}
    assert written == {"/tmp", next(step for step in IMAGE if step.startswith("VOLUME ")).split()[1]}
    assert all(volume["emptyDir"]["sizeLimit"] for volume in POD["volumes"])


def test_files_that_are_read_cannot_end_the_pod() -> None:
    limits, requests = CONTAINER["resources"]["limits"], CONTAINER["resources"]["requests"]
    assert requests.keys() == {"cpu", "memory"}
    assert int(limits["memory"].removesuffix("Gi")) << 30 >= reading.AT_A_TIME * ProcessLimits().memory_bytes + (512 << 20)


def test_everything_selects_the_pods_and_nothing_else() -> None:
    selector = DEPLOYMENT["spec"]["selector"]["matchLabels"]
    assert selector.items() <= DEPLOYMENT["spec"]["template"]["metadata"]["labels"].items()
    assert one("Service")["spec"]["selector"] == selector
    assert one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == selector
    assert one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == selector


def test_only_named_namespaces_connect_and_no_pod_reaches_the_addresses_of_the_cloud() -> None:
    policy = one("NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    [coming] = policy["ingress"]
    assert coming["from"] and all(each["namespaceSelector"]["matchLabels"] for each in coming["from"])
    names, others = policy["egress"]
    assert {each["port"] for each in names["ports"]} == {53} and others["ports"], "no other port is open to everything"
    left_out = [ip_network(each) for to in others["to"] if "ipBlock" in to for each in to["ipBlock"]["except"]]
    for address in ("169.254.169.254", "fe80::a9fe:a9fe", "fd00:ec2::254"):
        assert any(ip_address(address) in network for network in left_out), address


def test_it_grows_by_a_metric_that_the_product_has() -> None:
    scaler = yaml.safe_load((chart.MANIFESTS / "autoscaling.yaml").read_text(encoding="utf-8"))
    [metric] = scaler["spec"]["metrics"]
    page = (ROOT / "docs/operating/metrics.md").read_text(encoding="utf-8")
    assert f"`{metric['external']['metric']['name']}`" in page, "which has those that exist, says test_names_of_metrics"
    assert scaler["spec"]["scaleTargetRef"]["name"] == DEPLOYMENT["metadata"]["name"]
    assert scaler["spec"]["minReplicas"] >= 2


@with_helm
def test_the_manifests_are_what_the_chart_makes_now() -> None:
    for name, text in chart.manifests().items():
        assert (chart.MANIFESTS / name).read_text(encoding="utf-8") == text, f"make chart writes {name}"


EVERY_VALUE = chart.example() | {
    "autoscaling": {"enabled": True},
    "existingClaim": "shared",
    "files": {"backends.toml": "# none\n"},
    "imagePullSecrets": [{"name": "pull"}],
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "secrets": ["more"],
    "settings": {"CHATUI_BACKEND_URL": "http://vllm.models:8000", "CHATUI_TITLES": "false"},
    "tolerations": [{"key": "chat", "operator": "Exists"}],
}


@with_helm
def test_helm_and_kubernetes_have_nothing_against_it_with_or_without_every_value() -> None:
    for values in (chart.example(), EVERY_VALUE):
        said = chart.helm(values)
        assert (said["lint"], said["wrong"]) == ([], []) and said["rendered"], said
    deployment = yaml.safe_load(said["rendered"]["chatui/templates/deployment.yaml"])
    assert "replicas" not in deployment["spec"], "the autoscaler has the say"
    assert {"name": "more"} in [each.get("secretRef") for each in deployment["spec"]["template"]["spec"]["containers"][0]["envFrom"]]


@with_helm
def test_the_schemas_of_kubernetes_do_find_faults() -> None:
    assert chart.helm(chart.example() | {"resources": {"limit": {}}})["wrong"]


@with_helm
@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"origin": ""}, "origin"),
        ({"origin": "http://chat.example.org"}, "origin"),
        ({"trustedProxies": ""}, "trustedProxies"),
        ({"image": {}}, "image.repository"),
        ({"replica": 3}, "replica"),
        ({"settings": {"CHATUI_TITLES": False}}, "CHATUI_TITLES"),
        ({"settings": {"chatui_titles": "false"}}, "chatui_titles"),
        ({"settings": {"CHATUI_SECRET_KEY": "readable"}}, "CHATUI_SECRET_KEY"),
        ({"networkPolicy": {"fromNamespaces": []}}, "fromNamespaces"),
    ],
)
def test_a_value_that_is_wrong_or_missing_is_refused_by_name(change: dict[str, Any], word: str) -> None:
    assert word in chart.helm(chart.example() | change)["refused"]

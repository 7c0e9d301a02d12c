"""Checks the Helm chart as Helm does, and writes the plain manifests of ``deploy/kubernetes`` from it: ``python -m tests.tools.chart``.

Helm is a library here (``helm-python-sdk``), and the schemas of Kubernetes are another package. Together they are 400 MB, so they have an
environment of their own in the cache, which only this command makes.
"""

import json
import subprocess
import sys
import venv
from typing import Any

import yaml

from tests.support.places import CACHE, ROOT

CHART = ROOT / "deploy" / "chart"
MANIFESTS = ROOT / "deploy" / "kubernetes"
PACKAGES = ("helm-python-sdk==0.2.2", "kubernetes-validate==1.37.0")
KUBERNETES = ("1.28", "1.32", "1.37")
"""The versions whose schemas the manifests have to fit."""
ENVIRONMENT = CACHE / "chart"
RELEASE = "chatui"

_PROGRAM = """
import json, sys
import helm_python as helm, kubernetes_validate, yaml
asked = json.load(sys.stdin)
with helm.Chart.load(asked["chart"]) as chart:
    try:
        chart.validate_schema(asked["values"])
        said = {"rendered": chart.render(asked["values"], name=asked["name"], namespace=asked["name"])}
    except helm.HelmError as error:
        said = {"refused": str(error)}
linted = helm.lint(asked["chart"], asked["values"], strict=True)
said["lint"] = [*linted["errors"], *(found["error"] for found in linted["messages"] if found["severity"] > 1)]
said["wrong"] = []
for name, text in said.get("rendered", {}).items():
    for document in yaml.safe_load_all(text) if name.endswith(".yaml") else ():
        for version in asked["versions"] if document else ():
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except Exception as error:
                said["wrong"].append(f"{name}, Kubernetes {version}: {error}")
print(json.dumps(said, default=str))
"""


def is_there() -> bool:
    """Whether the environment is made, with these versions."""
    stamp = ENVIRONMENT / "installed"
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == " ".join(PACKAGES)


def make() -> None:
    """Make the environment."""
    venv.create(ENVIRONMENT, clear=True, with_pip=True)
    pip = (str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    subprocess.run([*pip, *PACKAGES], check=True)
    (ENVIRONMENT / "installed").write_text(" ".join(PACKAGES), encoding="utf-8")


def helm(values: dict[str, Any]) -> dict[str, Any]:
    """What Helm says: ``rendered`` (text by template) or ``refused``; ``lint``, its warnings; ``wrong``, what does not fit Kubernetes."""
    asked = {"chart": str(CHART), "values": values, "name": RELEASE, "versions": KUBERNETES}
    command = [str(ENVIRONMENT / "bin" / "python"), "-c", _PROGRAM]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def example() -> dict[str, Any]:
    """The values of the plain manifests."""
    read: dict[str, Any] = yaml.safe_load((MANIFESTS / "values.yaml").read_text(encoding="utf-8"))
    return read


def manifests() -> dict[str, str]:
    """The plain manifests by file name: everything, and the autoscaling by itself, because it needs an adapter for the metric."""
    files = {}
    usual = helm(example())["rendered"]
    scaled = helm(example() | {"autoscaling": {"enabled": True}})["rendered"]
    one = {name: text for name, text in scaled.items() if name.endswith("/autoscaling.yaml")}
    for file, rendered in (("chatui.yaml", usual), ("autoscaling.yaml", one)):
        texts = [text.strip() for name, text in sorted(rendered.items()) if name.endswith(".yaml") and text.strip()]
        files[file] = "# Made from deploy/chart by make chart.\n---\n" + "\n---\n".join(texts) + "\n"
    return files


def main() -> int:
    """Write the manifests. 0 if Helm and Kubernetes' schemas have nothing against them."""
    if not is_there():
        print("Installing Helm and the schemas of Kubernetes into the cache.", flush=True)
        make()
    said = helm(example())
    if found := [*said["wrong"], *said["lint"], *filter(None, [said.get("refused")])]:
        print("\n".join(found))
        return 1
    for name, text in manifests().items():
        (MANIFESTS / name).write_text(text, encoding="utf-8")
    print(f"deploy/kubernetes is written, and fits Kubernetes {', '.join(KUBERNETES)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

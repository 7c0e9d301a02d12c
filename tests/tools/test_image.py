"""The Dockerfile and compose.yaml match the product: the same pins, all files that run, a plain user, real settings."""

import re
import tomllib

import yaml

from chatui.env import Environment
from tests.support.places import ROOT
from tests.tools.docker_steps import Rehearsal, run_step, steps

STEPS = steps((ROOT / "Dockerfile").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


LAST = max(number for number, step in enumerate(STEPS) if step.startswith("FROM "))
BUILD, IMAGE = STEPS[:LAST], STEPS[LAST:]


def words(instruction: str, stage: list[str] = IMAGE) -> list[str]:
    """The arguments of each ``instruction``."""
    return [step.partition(" ")[2].strip() for step in stage if step.startswith(f"{instruction} ")]


def test_the_image_installs_the_pins_with_their_hashes_and_the_wheel() -> None:
    pins, wheel = [step for step in words("RUN") if "pip install" in step]
    assert "--require-hashes" in pins
    assert pins.endswith('--requirement "$REQUIREMENTS"') and words("ARG") == ["REQUIREMENTS=requirements.txt"]
    assert {"--no-deps", "--no-index", "wheel/chatui-*.whl"} <= set(wheel.split()), "and nothing else"
    (building,) = [step for step in words("RUN", BUILD) if "pip install" in step]
    assert "--require-hashes" in building


def test_the_packages_for_traces_can_be_built_in_and_hold_all_others() -> None:
    usual, with_traces = (
        set(re.findall(r"^[\w.-]+==\S+", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.txt", "requirements-traces.txt")
    )
    assert usual < with_traces and any(pin.startswith("opentelemetry-sdk==") for pin in with_traces - usual)
    assert "!requirements-traces.txt" in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rehearsal = Rehearsal(ROOT, ROOT / "python")
    run_step(rehearsal, "ARG REQUIREMENTS=requirements-traces.txt")
    assert rehearsal.variables()["REQUIREMENTS"] == "requirements-traces.txt"


def test_the_image_holds_no_source_tree() -> None:
    copied = {source for step in words("COPY") for source in step.split()[:-1]}
    assert copied == {"requirements.txt", "requirements-traces.txt", "--from=build", "/build/wheel"}
    assert words("CMD") == ['["chatui", "serve", "--host", "0.0.0.0", "--port", "8000"]']


def test_the_build_has_all_that_the_wheel_is_made_of() -> None:
    copied = {source for step in words("COPY", BUILD) for source in step.split()[:-1]}
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    wheel = hatch["build"]["targets"]["wheel"]
    scripts = (wheel["hooks"]["custom"]["path"], hatch["version"]["path"])
    assert copied >= {*wheel["packages"], *wheel["force-include"], *(path.partition("/")[0] for path in scripts)}


def test_the_product_runs_as_a_plain_user_and_the_image_is_pinned_to_a_version() -> None:
    assert words("USER") == ["10001:10001"]
    (base,) = words("FROM")
    assert re.fullmatch(r"python:3\.1[1-9]-slim-\w+", base)
    assert words("FROM", BUILD) == [f"{base} AS build"]
    images = {name: service["image"] for name, service in COMPOSE["services"].items() if "image" in service}
    assert [name for name, image in images.items() if not re.search(r":\d", image)] == ["llama"], "which the operator names"


def test_every_service_says_whether_it_is_well() -> None:
    assert len(words("HEALTHCHECK")) == 1
    assert [name for name, service in COMPOSE["services"].items() if "image" in service and "healthcheck" not in service] == []


def test_compose_hands_every_setting_of_its_file_to_the_product_and_sets_only_what_the_other_services_need() -> None:
    known = {f"CHATUI_{name.upper()}" for name in Environment.model_fields}
    app = COMPOSE["services"]["app"]
    assert app["env_file"] == [".env"]
    needed = {"CHATUI_DATA_DIR", "CHATUI_DATABASE_URL", "CHATUI_REDIS_URL", "CHATUI_SECRET_KEY", "CHATUI_TRUSTED_PROXIES"}
    assert set(app["environment"]) == needed <= known
    assert app["environment"]["CHATUI_DATA_DIR"] in {volume.split(":")[1] for volume in app["volumes"]}


def test_compose_has_two_processes_behind_a_balancer_and_a_model_server_for_who_asks() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"balancer", "app", "postgres", "redis", "llama"}
    assert services["app"]["deploy"]["replicas"] == 2
    assert [name for name, service in services.items() if "ports" in service] == ["balancer"], "nothing bypasses it"
    assert all(port.startswith("127.0.0.1:") for port in services["balancer"]["ports"])
    assert {name: service["profiles"] for name, service in services.items() if "profiles" in service} == {"llama": ["llama"]}
    [network] = COMPOSE["networks"]["default"]["ipam"]["config"]
    assert services["app"]["environment"]["CHATUI_TRUSTED_PROXIES"] == network["subnet"]


def test_what_meets_strangers_has_a_root_that_nobody_writes_and_no_rights() -> None:
    for name in ("balancer", "app", "llama"):
        service = COMPOSE["services"][name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert service["security_opt"] == ["no-new-privileges:true"], name


def test_a_container_is_given_more_time_to_end_than_running_answers_have() -> None:
    assert int(COMPOSE["services"]["app"]["stop_grace_period"].removesuffix("s")) > Environment.model_fields["drain_seconds"].default + 5

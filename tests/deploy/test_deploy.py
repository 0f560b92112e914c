"""The container file, the systemd unit and the example configurations: what of them can be run without their engines."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from proxy.config.config import Config, parse_config

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
Instruction = tuple[str, str]


def instructions() -> list[Instruction]:
    """Return what the container file says, each with its word in capitals."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip()]


def stages() -> list[list[Instruction]]:
    """Return the instructions of each stage."""
    found: list[list[Instruction]] = []
    for one in instructions():
        if one[0] == "FROM":
            found.append([])
        found[-1].append(one)
    return found


def copied(stage: list[Instruction]) -> Iterator[tuple[list[str], str]]:
    """Yield what a stage takes from the project, and where to."""
    for word, rest in stage:
        if word == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            yield sources, target


def config() -> Config:
    return parse_config(yaml.safe_load((DEPLOY / "config.yaml").read_text()), ROOT / "config.yaml")


def lay_out(stage: list[Instruction], root: Path, folder: str) -> None:
    """Do the copying of a stage below `root`, as an engine does it: the contents of a folder, or files into a folder."""
    for sources, target in copied(stage):
        to = root / (target.lstrip("/") if target.startswith("/") else f"{folder}/{target}")
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            else:
                place = to / Path(source).name if target.endswith("/") else to
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)


def test_the_image_is_made_of_what_is_there_and_runs_as_nobody_special() -> None:
    """Every file that is copied exists, every package is among them, no secret is baked in, and the last user is not root."""
    build, final = stages()
    sources = [source for stage in (build, final) for many, _ in copied(stage) for source in many]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert {name.partition(".")[0] for name in PROJECT["tool"]["setuptools"]["packages"]} <= set(sources)
    users = [rest for word, rest in final if word == "USER"]
    assert users
    assert users[-1] not in ("root", "0")
    assert not [word for word, _ in instructions() if word in ("ADD", "ARG")]
    assert not re.search(r"(?i)key=|password=|token=|secret=", (ROOT / "Containerfile").read_text())
    assert not {word for word, _ in instructions()} - {
        "FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD",
    }  # fmt: skip


def test_what_no_image_is_to_see_is_kept_from_every_engine() -> None:
    """Docker reads this file alone, podman both: conversations, history and tests stay outside."""
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv", "data", "tests"} <= set(ignored)
    assert not (ROOT / ".containerignore").exists()  # podman would read that one instead


def test_what_the_image_holds_serves_and_is_healthy(tmp_path: Path) -> None:
    """Built from the copied files alone, with what they need, its own command starts, its own check passes, and SIGTERM ends it."""
    build, final = stages()
    lay_out(build, tmp_path, "src")
    lay_out(final, tmp_path, ".")
    # What `pip install --no-deps .` copies, without a network.
    made = [
        sys.executable,
        "-c",
        "import setuptools; setuptools.setup()",
        "-q",
        "build_py",
        "-d",
        str(tmp_path / "opt"),
    ]
    subprocess.run(made, cwd=tmp_path / "src", check=True, capture_output=True)
    for path in ("etc/caf", "var/lib/caf"):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
    settings = tmp_path / "etc/caf/config.yaml"
    settings.write_text(settings.read_text().replace("/var/lib", f"{tmp_path}/var/lib"))
    secrets = {"OPENAI_API_KEY": "k", "CAF_REDIS_PASSWORD": "p", "PYTHONPATH": str(tmp_path / "opt")}
    variables = dict(pair.split("=", 1) for word, rest in final if word == "ENV" for pair in rest.split())
    assert (variables["CAF_CONFIG"], variables["CAF_HOST"]) == ("/etc/caf/config.yaml", "0.0.0.0")
    environment = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", "CAF_CONFIG": str(settings), **secrets}
    caf = [sys.executable, "-W", "error", "-m", "cli"]
    (where,) = [rest for word, rest in final if word == "WORKDIR"]
    here = tmp_path / where.lstrip("/")
    asked = [sys.executable, "-c", "import proxy; print(proxy.__file__)"]
    found = subprocess.run(asked, cwd=here, env=environment, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(tmp_path / "opt"))
    key = [*caf, "key", "create", "clinic"]
    assert subprocess.run(key, cwd=here, env=environment, capture_output=True, text=True, check=True).stdout
    (entry,) = [json.loads(rest) for word, rest in final if word == "ENTRYPOINT"]
    (command,) = [json.loads(rest) for word, rest in final if word == "CMD"]
    assert entry == ["caf"]
    environment |= {"CAF_HOST": "127.0.0.1", "CAF_PORT": "0"}
    serving = subprocess.Popen(
        [*caf, *command], cwd=here, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert serving.stdout is not None
        address = re.fullmatch(r"CAF serves (\S+)/v1\n", serving.stdout.readline())
        assert address, serving.communicate(timeout=20)
        (check,) = [json.loads(rest[rest.index("[") :]) for word, rest in final if word == "HEALTHCHECK"]
        code = [sys.executable, *(part.replace("http://127.0.0.1:8080", address[1]) for part in check[1:])]
        assert address[1] in code[-1]
        subprocess.run(code, check=True, timeout=30)
        nowhere = [sys.executable, *(part.replace("healthz", "nowhere") for part in code[1:])]
        assert subprocess.run(nowhere, timeout=30, capture_output=True).returncode == 1
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.communicate(timeout=30)
    assert serving.returncode == 0


def test_every_package_is_installed() -> None:
    """One that is not listed would be missing from whatever is not an editable installation; what only makes weights may be."""
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    tops = {name.partition(".")[0] for name in listed}
    folders = {path.parent.relative_to(ROOT) for top in tops for path in (ROOT / top).rglob("*.py")}
    assert {".".join(folder.parts) for folder in folders} - listed <= {"judges.evaluation.training"}
    assert [name for name in listed if not (ROOT / name.replace(".", "/")).is_dir()] == []


def test_the_image_has_the_stores_and_exporters_and_not_the_lab() -> None:
    """It is installed with extras that there are, for traces in PostgreSQL and for spans, and with the tested versions."""
    (line,) = [rest for word, rest in instructions() if word == "RUN" and "pip install" in rest]
    (extras,) = re.findall(r"'\.\[(.+)\]'", line)
    assert set(extras.split(",")) == {"postgres", "otel"} <= set(PROJECT["project"]["optional-dependencies"])
    assert "-c constraints.txt" in line


def unit() -> dict[str, list[tuple[str, str]]]:
    """Return the sections of the systemd unit; a key may stand twice."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in (DEPLOY / "caf.service").read_text().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            section.append((name, value))
    return found


def test_the_unit_stops_later_than_the_proxy_and_may_do_little() -> None:
    """It runs as a user of its own, without capabilities, and writes in one folder, where the configuration says."""
    service = dict(unit()["Service"])
    assert int(service["TimeoutStopSec"]) > config().server.grace_s + 5
    command = shlex.split(service["ExecStart"])
    assert command[1:4] == ["serve", "--config", "/etc/caf/config.yaml"]
    assert service["User"] not in ("root", "")
    assert service["CapabilityBoundingSet"] == ""
    assert {service[name] for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "RestrictNamespaces")} == {"yes"}
    assert service["ProtectSystem"] == "strict"
    place = Path("/var/lib") / service["StateDirectory"]
    settings = config()
    assert settings.keys is not None
    assert settings.keys.file is not None
    assert settings.audit is not None
    for path in (settings.keys.file, settings.privacy.path, settings.audit.folder):
        assert path.is_relative_to(place)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """Every key and value; and finds little that it may do."""
    path = tmp_path / "caf.service"
    path.write_text((DEPLOY / "caf.service").read_text().replace("/opt/caf/bin/caf", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "caf.service" in line]) == (0, [])
    looked = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(path)], capture_output=True, text=True
    )
    if "unrecognized option" not in looked.stderr:  # before systemd 250
        assert looked.returncode == 0, looked.stdout[-400:] + looked.stderr


def test_nginx_waits_longer_and_takes_more_than_the_proxy() -> None:
    """So that clients are told by the proxy, which knows why; streams are not held back; what operators need is not there."""
    text = re.sub(r"#.*", "", (DEPLOY / "nginx.conf").read_text())
    assert text.count("{") == text.count("}")
    values = dict(re.findall(r"^\s*(\w+)\s+([^;{]+);", text, flags=re.MULTILINE))
    assert int(values["proxy_read_timeout"].removesuffix("s")) > config().server.turn_timeout_s
    assert int(values["client_max_body_size"].removesuffix("m")) * 2**20 >= 2 * config().server.max_body_bytes
    assert values["proxy_buffering"] == "off"
    assert re.findall(r"location (?:= )?(\S+) \{", text) == ["/v1/", "/readyz", "/"]
    assert "return 404" in text


def test_the_example_is_a_configuration_for_production() -> None:
    """Keys, shared state, no texts in traces, an audit log, a filter that is on, and a local emergency judge that fires alone."""
    settings = config()
    assert settings.keys is not None
    assert settings.audit is not None
    assert (settings.memory.store, settings.privacy.store) == ("redis", "redacted")
    for bot in settings.chatbots.values():
        assert (bot.kind, bot.filter) == ("guarded", "on")
        assert [judge.stages for judge in bot.judges if judge.name == "emergency"] == [["local"]]

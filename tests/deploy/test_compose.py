"""compose.yaml and its configuration: what of them can be checked without a container engine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from proxy.config.config import Config, parse_config
from tests.deploy.test_deploy import ROOT, instructions, lay_out, stages

SETTINGS = ROOT / "deploy" / "compose.config.yaml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
VOLUMES: dict[str, None] = yaml.safe_load((ROOT / "compose.yaml").read_text())["volumes"]


def config() -> Config:
    return parse_config(yaml.safe_load(SETTINGS.read_text()), ROOT / "config.yaml")


def mounts(service: str) -> dict[str, str]:
    """Return what is mounted in a container, by its path there."""
    return {place: source for source, place, *_ in (volume.split(":") for volume in SERVICES[service]["volumes"])}


def test_the_configuration_uses_the_services_by_their_names() -> None:
    """Conversations in Redis, traces in PostgreSQL, as the user and in the database that its container makes."""
    settings = config()
    assert settings.memory.store == "redis"
    assert urlsplit(settings.memory.url).hostname in SERVICES
    assert settings.privacy.url is not None
    traces, made = urlsplit(settings.privacy.url), SERVICES["postgres"]["environment"]
    assert traces.hostname in SERVICES
    assert (traces.username, traces.path) == (made["POSTGRES_USER"], f"/{made['POSTGRES_DB']}")


def test_every_secret_is_a_variable_that_both_sides_get() -> None:
    """None is written into a file, and compose stops if one is missing."""
    settings, proxy = config(), SERVICES["caf"]["environment"]
    redis, database = settings.memory.password_env, settings.privacy.password_env
    keys = {model.api_key_env for model in settings.models.values()}
    assert {redis, database, *keys} == set(proxy)
    given = [*proxy.values(), SERVICES["redis"]["environment"]["REDISCLI_AUTH"]]
    given.append(SERVICES["postgres"]["environment"]["POSTGRES_PASSWORD"])
    assert all(re.fullmatch(r"\$\{[A-Z_]+:\?.+\}", value) for value in given)
    assert proxy[redis] == SERVICES["redis"]["environment"]["REDISCLI_AUTH"]
    assert proxy[database] == SERVICES["postgres"]["environment"]["POSTGRES_PASSWORD"]
    for file in (".gitignore", ".dockerignore"):
        assert ".env" in (ROOT / file).read_text().split()


def test_what_has_to_stay_is_in_volumes() -> None:
    """The keys and the audit log in one that the proxy may write to; the configuration is what the image looks for."""
    settings, mounted = config(), mounts("caf")
    assert (ROOT / mounted["/etc/caf/config.yaml"]).samefile(SETTINGS)
    assert settings.keys is not None
    assert settings.keys.file is not None
    assert settings.audit is not None
    for path in (settings.keys.file, settings.audit.folder):
        assert any(mounted[place] in VOLUMES for place in mounted if path.is_relative_to(place))
    assert {source for name in SERVICES for source in mounts(name).values() if "/" not in source} == set(VOLUMES)
    assert SERVICES["caf"]["read_only"] is True


def test_the_proxy_waits_for_healthy_services() -> None:
    """Its own check comes with its image; its port is that of the image, for this machine only."""
    assert {name: wait["condition"] for name, wait in SERVICES["caf"]["depends_on"].items()} == dict.fromkeys(
        ("redis", "postgres"), "service_healthy"
    )
    assert all("healthcheck" in SERVICES[name] for name in ("redis", "postgres"))
    said = dict(instructions())
    assert "HEALTHCHECK" in said
    (port,) = SERVICES["caf"]["ports"]
    assert port == f"127.0.0.1:{config().server.port}:{said['EXPOSE']}"
    assert (ROOT / SERVICES["caf"]["build"]["dockerfile"]).is_file()
    assert int(SERVICES["caf"]["stop_grace_period"].removesuffix("s")) > config().server.grace_s + 5


def test_caf_check_accepts_the_configuration(tmp_path: Path) -> None:
    """Laid out as in the container, where role and sections come from the image, once there is a key."""
    lay_out(stages()[-1], tmp_path, ".")
    settings = tmp_path / "etc/caf/config.yaml"
    settings.write_text(SETTINGS.read_text().replace("/var/lib", f"{tmp_path}/var/lib"))
    (tmp_path / "var/lib/caf").mkdir(parents=True)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "CAF_CONFIG": str(settings)}
    for command in (["key", "create", "my-app"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-m", "cli", *command], cwd=tmp_path, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done
    assert "no problems in 1 chatbot, 28 sections" in done.stdout


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_the_command_of_redis_asks_for_the_password(tmp_path: Path) -> None:
    """The shell of the container gets it as a variable; without it a client is refused."""
    *shell, command = SERVICES["redis"]["command"]
    command = command.replace("$$", "$").replace("redis-server", "redis-server --port 0 --unixsocket redis.sock")
    env = {"PATH": os.environ["PATH"], "REDISCLI_AUTH": "secret word"}
    with subprocess.Popen([*shell, command], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert any("eady to accept connections" in line for line in server.stdout)
            ask = ["redis-cli", "-s", "redis.sock", "ping"]
            healthy = subprocess.run(ask, cwd=tmp_path, env=env, capture_output=True, text=True)
            refused = subprocess.run(ask, cwd=tmp_path, env={"PATH": env["PATH"]}, capture_output=True, text=True)
        finally:
            server.terminate()
    assert (healthy.stdout.strip(), "NOAUTH" in refused.stdout) == ("PONG", True), (healthy, refused)

"""CAF_CONFIG, CAF_HOST and CAF_PORT: below options, above files."""

import re
import signal
import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Caf, Serving
from tests.cli.test_serve import PASSTHROUGH

OTHER = PASSTHROUGH.replace("plain", "other")


@pytest.fixture
def configurations(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(PASSTHROUGH)
    (tmp_path / "other.yaml").write_text(OTHER)


@pytest.mark.usefixtures("configurations")
def test_the_variable_goes_before_the_current_folder_and_behind_the_option(inside: Caf) -> None:
    env = {"CAF_CONFIG": "other.yaml"}
    assert "other.yaml: no problems" in inside("check", env=env).out
    assert "config.yaml: no problems" in inside("check", "--config", "config.yaml", env=env).out
    assert "config.yaml: no problems" in inside("check", env={"CAF_CONFIG": ""}).out
    assert "other.yaml" not in inside("check", "config.yaml", env=env).out


@pytest.mark.parametrize("verb", [["check"], ["serve"], ["trace", "list"], ["key", "list"], ["assistant", "tasks"]])
def test_a_variable_that_names_no_file_is_said(inside: Caf, verb: list[str]) -> None:
    ended = inside(*verb, env={"CAF_CONFIG": "nosuch.yaml"})
    assert (ended.code, ended.err) == (
        2,
        "caf: CAF_CONFIG: 'nosuch.yaml': there is no such file; name a configuration, or make one with `caf init FOLDER`\n",
    )


@pytest.mark.usefixtures("configurations")
def test_serve_takes_all_three(tmp_path: Path, environment: dict[str, str]) -> None:
    """The port of the option wins over that of the variable."""
    env = environment | {"CAF_CONFIG": "other.yaml", "CAF_HOST": "localhost", "CAF_PORT": "1"}
    proxy = Serving(tmp_path, env)
    try:
        assert "  chatbots  other (passthrough)" in proxy.said
        assert re.fullmatch(r"http://localhost:\d+/v1", proxy.address)
    finally:
        assert proxy.end(signal.SIGTERM)[0] == 0


@pytest.mark.usefixtures("configurations")
def test_the_port_of_the_variable_is_taken(caf: Caf) -> None:
    """A port in use shows which one it wanted."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = caf("serve", env={"CAF_PORT": port})
    assert (ended.code, port in ended.err) == (2, True), ended.err


@pytest.mark.usefixtures("configurations")
@pytest.mark.parametrize("value", ["x", "70000", "-1"])
def test_a_wrong_port_is_named_with_its_variable(inside: Caf, value: str) -> None:
    ended = inside("serve", env={"CAF_PORT": value})
    assert (ended.code, f"the environment variable CAF_PORT: {value!r}" in ended.err) == (2, True), ended.err


@pytest.mark.usefixtures("configurations")
def test_a_host_beyond_loopback_still_needs_keys(inside: Caf) -> None:
    ended = inside("serve", env={"CAF_HOST": "0.0.0.0"})
    assert (ended.code, "'0.0.0.0' is not a loopback address" in ended.err) == (2, True), ended.err


def test_help_names_the_variables(inside: Caf) -> None:
    shown = " ".join(inside("serve", "--help").out.split())
    for name in ("CAF_CONFIG", "CAF_HOST", "CAF_PORT", "CAF_UPSTREAM_KEY"):
        assert name in shown
    assert "CAF_CONFIG" in inside("trace", "list", "--help").out

"""The command as a whole: its help, its speed, its ways to be started."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from cli.main import VERBS
from tests.cli.conftest import ROOT, Caf

WITH_EXAMPLE = [
    ["init"],
    ["serve"],
    ["chat"],
    ["check"],
    ["trace"],
    ["trace", "list"],
    ["trace", "show"],
    ["trace", "purge"],
    ["schema"],
]


def test_help_names_every_verb_and_the_exit_codes(caf: Caf, inside: Caf) -> None:
    """Who types `caf --help` learns where to begin; each verb's line is the first of its own help."""
    ended = caf("--help")
    assert ended.code == 0
    for verb, (_, line) in VERBS.items():
        assert f"\n  {verb} " in ended.out
        assert inside(verb, "--help").out.split("\n\n")[1].strip().startswith(line)
    assert "Exit codes: 0 success; 1 problems found; 2 wrong usage" in ended.out


@pytest.mark.parametrize("verb", WITH_EXAMPLE, ids=" ".join)
def test_every_verb_has_an_example(inside: Caf, verb: list[str]) -> None:
    """Help without an example helps half; what needs the lab is tested where there is none (`test_extras.py`)."""
    ended = inside(*verb, "--help")
    assert ended.code == 0
    assert "Example" in ended.out


@pytest.mark.parametrize("wrong", [[], ["trace"], ["nope"], ["serve", "--prot", "1"], ["serve", "--port", "99999"]])
def test_wrong_usage_has_exit_code_2(inside: Caf, wrong: list[str]) -> None:
    """And says what is wrong, without a traceback."""
    ended = inside(*wrong)
    assert ended.code == 2
    assert "Usage:" in ended.out + ended.err


@pytest.mark.parametrize(
    "verb", [[], ["serve"], ["trace", "list"], ["judges", "eval"], ["key", "create"]], ids=" ".join
)
def test_h_is_help(inside: Caf, verb: list[str]) -> None:
    """Of the command, and of every verb."""
    ended = inside(*verb, "-h")
    assert (ended.code, ended.out) == (0, inside(*verb, "--help").out)


def test_the_version_is_the_distributions(inside: Caf) -> None:
    """As a bug report wants it."""
    assert inside("--version").out == f"caf {version('critical-analysis-filter')}\n"


def test_help_loads_neither_server_nor_rich() -> None:
    """What only some verb needs is imported inside it: help comes at once."""
    heavy = {"aiohttp", "pydantic", "rich", "yaml", "scipy", "numpy", "jinja2"}
    code = f"import cli.main, sys; print(sorted({heavy} & {{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "[]\n"

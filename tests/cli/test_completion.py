"""Shell completion, as typer brings it: `caf --install-completion`, `caf --show-completion`."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.main import VERBS
from tests.cli.conftest import Caf

COMPLETE = """
eval "$(_CAF_COMPLETE=source_bash caf)"
COMP_WORDS=({words}); COMP_CWORD={index}
_caf_completion caf
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["caf", ""], list(VERBS)),
        (["caf", "dr"], ["drift"]),
        (["caf", "drift", "f"], ["find"]),
        (["caf", "serve", "--up"], ["--upstream"]),
        (["caf", "--vers"], ["--version"]),
    ],
)
def test_bash_completes_verbs_and_options(
    tmp_path: Path, environment: dict[str, str], words: list[str], expected: list[str]
) -> None:
    """With the script that the command prints."""
    command = tmp_path / "caf"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m cli "$@"\n')
    command.chmod(0o755)
    script = COMPLETE.format(words=shlex.join(words), index=len(words) - 1)
    env = environment | {"PATH": f"{tmp_path}:{environment['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (expected, "")


def test_verbs_are_completed_without_importing_them(tmp_path: Path, environment: dict[str, str]) -> None:
    """Else the first press of Tab takes seconds."""
    code = (
        "import sys\nfrom cli.main import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name.startswith('cli.')])"
    )
    variables = {"_CAF_COMPLETE": "complete_bash", "COMP_WORDS": "caf ", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment | variables, cwd=tmp_path, capture_output=True, text=True
    )
    assert "serve" in done.stdout
    assert "cli.serve" not in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "pwsh"])
def test_there_is_a_script_for_every_usual_shell(caf: Caf, shell: str) -> None:
    ended = caf(env={"_CAF_COMPLETE": f"source_{shell}"})
    assert (ended.code, "_CAF_COMPLETE" in ended.out, ended.err) == (0, True, "")


def test_help_names_the_options(inside: Caf) -> None:
    shown = inside("--help").out
    assert "--install-completion" in shown
    assert "--show-completion" in shown

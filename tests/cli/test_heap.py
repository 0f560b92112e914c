"""Memory of a process that serves."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LET_GO = """
from pathlib import Path
from cli.heap import give_back
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
blocks = [bytes(4000) for _ in range(20_000)]
last = blocks[-1]
del blocks
before = resident()
give_back()
print(before - resident())
"""
NO_THREADS = """
import os, sys
from cli.heap import keep_small
keep_small()
import numpy
print(len(os.listdir("/proc/self/task")))
"""


def printed(code: str) -> int:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_that_was_let_go_of_is_given_back() -> None:
    """Of 80 MB below one block that is still in use, the system gets most."""
    assert printed(LET_GO) > 40_000_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_numpy_starts_no_threads() -> None:
    """However many cores there are."""
    assert printed(NO_THREADS) == 1

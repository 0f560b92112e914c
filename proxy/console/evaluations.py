"""Evaluations of judges: the files that `caf judges eval --out` writes, read; and one started, as a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.unique_keys import load_json

Json = dict[str, Any]

PROGRESS, LOG, OUTCOME = ".part", ".log", ".json"
"""What is there while one runs, what it printed, and its outcome; see `judges/evaluation/saved_evaluation.py`."""
NAME = re.compile(r"[\w.-]{1,80}")
STARTING_S = 60.0
"""How long a process may take to its first sign of life: it loads libraries and cases."""
LOG_SHOWN = 4_000
"""Characters of what it printed that are shown, the last ones."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation, running, finished or failed."""

    name: str
    state: str
    """running, done, failed, or damaged: its file cannot be read."""
    about: Json
    judges: dict[str, Json]
    """Figures by judge; empty unless it is done."""
    cases: list[Json]
    done: int = 0
    total: int = 0
    process: int | None = None
    printed: str = ""
    """What a failed one printed."""

    @property
    def started(self) -> float:
        return float(self.about.get("started", 0.0))

    @property
    def subject(self) -> str:
        """What was measured, as `local`."""
        return str(self.about.get("subject", "–"))

    @property
    def chatbot(self) -> str | None:
        """Whose judges; None: its file does not say."""
        return self.about.get("chatbot")

    @property
    def cases_from(self) -> str:
        """Where the cases are from, and which."""
        return f"{', '.join(self.about.get('data', [])) or 'shipped scenarios'}, {self.about.get('split', '–')}"

    @property
    def misjudged(self) -> list[Json]:
        """The cases that were judged wrongly, with their texts."""
        return [case for case in self.cases if case.get("wrong")]


def list_evaluations(folder: Path) -> list[Evaluation]:
    """Return the evaluations of a folder, the newest first. Blocks."""
    if not folder.is_dir():
        return []
    names = {
        path.stem for path in folder.iterdir() if path.suffix in (PROGRESS, LOG, OUTCOME) and NAME.fullmatch(path.stem)
    }
    evaluations = [one for name in names if (one := read_evaluation(folder, name)) is not None]
    return sorted(evaluations, key=lambda one: one.started, reverse=True)


def read_evaluation(folder: Path, name: str) -> Evaluation | None:
    """Return one evaluation; None: there is none of that name. Blocks."""
    if not NAME.fullmatch(name):
        return None
    base = folder / name
    outcome, part, log = (base.with_name(name + suffix) for suffix in (OUTCOME, PROGRESS, LOG))
    try:
        if outcome.is_file():
            data = _read(outcome)
            return Evaluation(name, "done", data["about"], data["judges"], data["cases"])
        if part.is_file():
            data = _read(part)
            state = "running" if _is_alive(data["process"], outcome) else "failed"
            printed = "" if state == "running" else _tail(log)
            return Evaluation(name, state, data["about"], {}, [], data["done"], data["total"], data["process"], printed)
        if log.is_file():
            began = log.stat().st_mtime
            waiting = time.time() - began < STARTING_S and not _tail(log).strip()
            return Evaluation(name, "running" if waiting else "failed", {"started": began}, {}, [], printed=_tail(log))
    except (OSError, ValueError, KeyError, TypeError):
        return Evaluation(name, "damaged", {}, {}, [])
    return None


def start_evaluation(folder: Path, config: Path, options: Sequence[str], chatbot: str) -> str:
    """Start an evaluation as a process of its own, which goes on when this one ends, and return its name.

    Args:
        folder: Where its files go.
        config: The configuration whose judges are measured.
        options: Those of `caf judges eval`.
        chatbot: Whose judges they are: who may see the evaluation hangs on it from the beginning.

    Raises:
        FileExistsError: Another one was started in this second.
    """
    name = time.strftime("%Y-%m-%d-%H%M%S", time.gmtime())
    folder.mkdir(0o700, parents=True, exist_ok=True)
    out, log = folder / (name + OUTCOME), folder / (name + LOG)
    command = [sys.executable, "-m", "cli", "judges", "eval", "--config", str(config), "--out", str(out), *options]
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as printed:
        # At a low priority: those who talk to the chatbots go first.
        process = subprocess.Popen(
            ["nice", "-n", "15", *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=printed, start_new_session=True,
        )  # fmt: skip
    # It is waited for, or it would stay as a zombie; no loop and no reload of the proxy waits with this thread.
    threading.Thread(target=process.wait, daemon=True).start()
    about = {"about": {"chatbot": chatbot, "started": time.time()}, "done": 0, "total": 0, "process": process.pid}
    with suppress(FileExistsError):  # from here on the process itself says how far it is
        _write_new(folder / (name + PROGRESS), json.dumps(about))
    return name


def stop_evaluation(evaluation: Evaluation) -> bool:
    """Ask a running evaluation to stop, and return whether it was running. What models answered is kept for the next one."""
    if evaluation.state != "running" or evaluation.process is None:
        return False
    try:
        os.kill(evaluation.process, signal.SIGTERM)
    except ProcessLookupError:  # it has ended by itself
        return False
    return True


def _read(path: Path) -> Json:
    data = load_json(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise TypeError
    return data


def _write_new(path: Path, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _is_alive(process: int, outcome: Path) -> bool:
    """Return whether a process still writes this outcome: by now its number may be another program's, which nobody is to stop."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_text(errors="replace")
        if not command:
            # So it is while the system replaces one program by the next, as `nice` is by ours. What has ended and still has a
            # number, and what the kernel runs itself, has no program.
            os.readlink(f"/proc/{process}/exe")
            return True
    except OSError:
        return False
    return any(Path(one).name == outcome.name for one in command.split("\0"))


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-LOG_SHOWN:] if log.is_file() else ""

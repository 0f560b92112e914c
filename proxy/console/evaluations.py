"""Evaluations of judges: reads the files of `caf judges eval --out`, and starts an evaluation in a separate process."""

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

from pydantic import Field

from proxy.console.saved_files import (
    Bounds,
    Damaged,
    Json,
    Moment,
    Number,
    Shape,
    Share,
    Whole,
    list_names,
    read_bytes,
    read_object,
)

PROGRESS, LOG, OUTCOME = ".part", ".log", ".json"
"""The suffixes of the files with progress, output and outcome; see `judges/evaluation/saved_evaluation.py`."""
NAME = re.compile(r"[\w.-]{1,80}")
STARTING_S = 60.0
"""Seconds until a process must have written something. It loads libraries and cases first."""
LOG_SHOWN = 4_000
"""Last characters of the output that are shown."""


class AboutShape(Shape):
    subject: str = "–"
    chatbot: str | None = None
    started: Moment = 0.0
    data: list[str] = Field([])
    split: str = "–"


class FiguresShape(Shape):
    n: Whole
    precision: Share | None
    precision_interval: Bounds | None
    recall: Share | None
    recall_interval: Bounds | None
    specificity: Share | None
    specificity_interval: Bounds | None
    roc_auc: Share | None
    unjudged: Whole
    skipped: Whole
    ms_p50: Number | None
    ms_p95: Number | None
    tokens_per_case: Number | None
    cost: Number | None
    roc: list[Bounds] = Field([])


class CaseShape(Shape):
    judge: str
    family: str
    expected: str | list[str] | None
    verdict: str | None
    score: Number | None
    wrong: bool = False
    user_message: str = ""
    reply: str | None = None
    reason: str | None = None


class OutcomeShape(Shape):
    about: AboutShape
    judges: dict[str, FiguresShape]
    cases: list[CaseShape]


class ProgressShape(Shape):
    about: AboutShape
    done: Whole
    total: Whole
    process: int = Field(ge=1)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation, running, finished or failed."""

    name: str
    state: str
    """`running`, `done`, `failed` or `damaged` (the file cannot be read)."""
    about: Json
    judges: dict[str, Json]
    """Figures by judge; empty unless the evaluation is finished."""
    cases: list[Json]
    done: int = 0
    total: int = 0
    process: int | None = None
    printed: str = ""
    """The output of a failed evaluation."""
    fault: str = ""
    """Why the file cannot be read, if the state is `damaged`."""

    @property
    def started(self) -> float:
        return float(self.about.get("started", 0.0))

    @property
    def subject(self) -> str:
        """The evaluated stages, such as `local`."""
        return str(self.about.get("subject", "–"))

    @property
    def chatbot(self) -> str | None:
        """The chatbot of the judges; None: unknown."""
        return self.about.get("chatbot")

    @property
    def cases_from(self) -> str:
        """The source of the cases and their split, such as `shipped scenarios, dev`."""
        return f"{', '.join(self.about.get('data', [])) or 'shipped scenarios'}, {self.about.get('split', '–')}"

    @property
    def misjudged(self) -> list[Json]:
        """The misjudged cases with their texts."""
        return [case for case in self.cases if case.get("wrong")]


def list_evaluations(folder: Path) -> list[Evaluation]:
    """Return the evaluations in a folder, newest first. Blocks.

    Raises:
        Damaged: The folder may not be read.
    """
    paths = map(Path, list_names(folder))
    names = {path.stem for path in paths if path.suffix in (PROGRESS, LOG, OUTCOME) and NAME.fullmatch(path.stem)}
    evaluations = [one for name in names if (one := read_evaluation(folder, name)) is not None]
    return sorted(evaluations, key=lambda one: one.started, reverse=True)


def read_evaluation(folder: Path, name: str) -> Evaluation | None:
    """Return an evaluation, or None if it does not exist. Blocks."""
    if not NAME.fullmatch(name):
        return None
    base = folder / name
    try:
        return _read_files(name, *(base.with_name(name + suffix) for suffix in (OUTCOME, PROGRESS, LOG)))
    except (Damaged, OSError) as error:
        return Evaluation(name, "damaged", {}, {}, [], fault=str(error))


def _read_files(name: str, outcome: Path, part: Path, log: Path) -> Evaluation | None:
    """Read an evaluation from its files. Raises: Damaged: a file is invalid or cannot be read."""
    if (data := read_object(outcome, OutcomeShape)) is not None:
        return Evaluation(name, "done", data["about"], data["judges"], data["cases"])
    if (data := read_object(part, ProgressShape)) is not None:
        state = "running" if _is_alive(data["process"], outcome) else "failed"
        printed = "" if state == "running" else _tail(log)
        return Evaluation(name, state, data["about"], {}, [], data["done"], data["total"], data["process"], printed)
    if read_bytes(log) is None:
        return None
    printed, began = _tail(log), log.stat().st_mtime
    waiting = time.time() - began < STARTING_S and not printed.strip()
    return Evaluation(name, "running" if waiting else "failed", {"started": began}, {}, [], printed=printed)


def start_evaluation(folder: Path, config: Path, options: Sequence[str], chatbot: str) -> str:
    """Start an evaluation in a separate process that outlives this one, and return its name.

    Args:
        folder: The folder for the files of the evaluation.
        config: The configuration with the judges.
        options: Options of `caf judges eval`.
        chatbot: The chatbot whose judges are evaluated. Only keys with access to this chatbot see the evaluation.

    Raises:
        FileExistsError: Another evaluation started in the same second.
    """
    name = time.strftime("%Y-%m-%d-%H%M%S", time.gmtime())
    folder.mkdir(0o700, parents=True, exist_ok=True)
    out, log = folder / (name + OUTCOME), folder / (name + LOG)
    command = [sys.executable, "-m", "cli", "judges", "eval", "--config", str(config), "--out", str(out), *options]
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as printed:
        # At a low priority, so that chatbots stay fast.
        process = subprocess.Popen(
            ["nice", "-n", "15", *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=printed, start_new_session=True,
        )  # fmt: skip
    # The thread reaps the process. Neither the event loop nor a reload of the proxy waits for it.
    threading.Thread(target=process.wait, daemon=True).start()
    about = {"about": {"chatbot": chatbot, "started": time.time()}, "done": 0, "total": 0, "process": process.pid}
    with suppress(FileExistsError):  # from now on the process writes its progress
        _write_new(folder / (name + PROGRESS), json.dumps(about))
    return name


def stop_evaluation(evaluation: Evaluation) -> bool:
    """Stop an evaluation and return whether it was running. The next evaluation reuses the cached model responses."""
    if evaluation.state != "running" or evaluation.process is None:
        return False
    try:
        os.kill(evaluation.process, signal.SIGTERM)
    except ProcessLookupError:  # it has ended by itself
        return False
    return True


def _write_new(path: Path, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _is_alive(process: int, outcome: Path) -> bool:
    """Return whether the process still runs this evaluation. Its id may have been reused by another program."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_text(errors="replace")
        if not command:
            # The command line is empty while `nice` is being replaced by our program. A zombie or a kernel thread also has an
            # empty command line, but no `exe` link.
            os.readlink(f"/proc/{process}/exe")
            return True
    except OSError:
        return False
    return any(Path(one).name == outcome.name for one in command.split("\0"))


def _tail(log: Path) -> str:
    """Return the end of a log file. Raises: Damaged: the file cannot be read."""
    return (read_bytes(log) or b"").decode(errors="replace")[-LOG_SHOWN:]

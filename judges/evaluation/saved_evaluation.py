"""An evaluation as a file for the console, and a second file with its progress while it runs."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judges.evaluation.measures import Measurement, roc_curve
from judges.evaluation.report import as_data, wrong_answers
from judges.evaluation.run_cases import Answer
from scenarios.files import write

PROGRESS_EVERY_S = 0.5
PROGRESS = ".part"
"""Suffix of the progress file, which is deleted when the outcome is written."""


@dataclass
class SavedEvaluation:
    """The file of one evaluation.

    Raises (each method): ScenarioError: the file cannot be written, or already exists at the beginning.
    """

    path: Path
    about: Mapping[str, Any]
    """Description of the measurement for display: subject, chatbot, split, and so on."""
    started: float = field(default_factory=time.time)
    done: int = 0
    total: int = 0
    _written: float = 0.0

    def begin(self, total: int) -> None:
        """Create the progress file. Args: total: the expected number of answers."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.total = total
        self._write_progress()

    def advance(self) -> None:
        """Count an answer."""
        self.done += 1
        if time.monotonic() - self._written > PROGRESS_EVERY_S:
            self._write_progress()

    def finish(self, measured: Mapping[str, Measurement], answers: Sequence[Answer]) -> None:
        """Write the outcome: the data of `--json`, points of ROC curves, and the texts of wrongly judged cases."""
        data = as_data(measured, answers)
        for name, judge in data["judges"].items():
            own_answers = [a for a in answers if a.example.judge == name and a.example.expected and not a.skipped]
            judge["roc"] = [[round(x, 4), round(y, 4)] for x, y in roc_curve(own_answers)]
        wrong = {id(answer) for answer in wrong_answers(answers)}
        for case, answer in zip(data["cases"], answers, strict=True):
            case["wrong"] = id(answer) in wrong
            case["tags"] = list(answer.example.tags)
            if case["wrong"]:
                case["user_message"], case["reply"] = answer.example.case.user_message, answer.example.case.draft
        self._write(self.path, {**data, "about": {**self.about, "started": self.started, "ended": time.time()}})
        self.path.with_suffix(PROGRESS).unlink(missing_ok=True)

    def _write_progress(self) -> None:
        self._written = time.monotonic()
        state = {"about": {**self.about, "started": self.started}, "done": self.done, "total": self.total}
        self._write(self.path.with_suffix(PROGRESS), {**state, "process": os.getpid()})

    def _write(self, path: Path, data: Mapping[str, Any]) -> None:
        write(json.dumps(data, ensure_ascii=False, indent=1) + "\n", path, overwrite=True)

"""Stores an evaluation as a file for the console, and its progress in a second file while the evaluation runs."""

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
"""Minimum time between two writes of the progress file, in seconds."""
PROGRESS = ".part"
"""Suffix of the progress file. The file is deleted when the result is written."""


@dataclass
class SavedEvaluation:
    """The file of one evaluation. Call `begin`, then `advance` for each answer, then `finish`.

    Every method raises `ScenarioError` if a file cannot be written.
    """

    path: Path
    """The file of the result."""
    about: Mapping[str, Any]
    """Description of the evaluation for display: subject, chatbot, split, and so on."""
    started: float = field(default_factory=time.time)
    """Start time, in seconds since the epoch."""
    done: int = 0
    """Number of answers so far."""
    total: int = 0
    """Expected number of answers."""
    _written: float = 0.0

    def begin(self, total: int) -> None:
        """Create the progress file.

        Args:
            total: Expected number of answers.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.total = total
        self._write_progress()

    def advance(self) -> None:
        """Count an answer, and update the progress file at most every `PROGRESS_EVERY_S` seconds."""
        self.done += 1
        if time.monotonic() - self._written > PROGRESS_EVERY_S:
            self._write_progress()

    def finish(self, measured: Mapping[str, Measurement], answers: Sequence[Answer]) -> None:
        """Write the result and delete the progress file.

        The result is the data of `--json` (`report.as_data`), with the points of the ROC curves and the texts of wrongly judged
        cases.
        """
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

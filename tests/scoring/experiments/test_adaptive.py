"""Adaptive stages: a facilitator goes on where the chatbot went along."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from scoring import experiment
from scoring.experiments.run import run_experiment
from scoring.folder import RunFolder
from scoring.runner import Progress
from scoring.transcript import Exchange
from tests.scoring.experiments.conftest import CONFIG

Written = Callable[..., Path]


def no_progress(turns: int, ratings: int) -> AbstractContextManager[Progress]:
    return nullcontext(lambda kind, cost: None)


def actor(*responses: str) -> dict[str, Any]:
    """Return an alias that says a line, and of each reply how it met the request."""
    script = ["line 1"]
    for n, response in enumerate(responses, 2):
        script += [json.dumps({"response": response, "reason": "so"}), f"line {n}"]
    return {"engine": "scripted", "script": script}


async def test_each_arm_goes_on_by_what_its_own_chatbot_says(written: Written, tmp_path: Path) -> None:
    """The stage of a turn is kept with it, and the manifest says how it was found."""
    responses = ("went_along", "held", "partly", "went_along", "went_along")
    config = CONFIG | {"models": {**CONFIG["models"], "actor": actor(*responses)}}
    path = written(
        config=config, voice="actor", stages="adaptive", turns=6, questions=[], arms={"off": {"filter": "off"}}, baseline="off",
        treated="off",
    )  # fmt: skip
    folder = RunFolder(tmp_path / "run")
    await run_experiment(
        experiment.load(path), folder, budget=None, replay=None, concurrency=1, command="test", print_note=print,
        show_progress=no_progress,
    )  # fmt: skip
    assert [one.stage for one in folder.read(Exchange)] == [2, 3, 3, 3, 4, 4]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["stages"] == "adaptive"
    assert "adaptive" in manifest["prompts"]

"""The folder of a small run, for the tests of what people rate."""

import json
from collections.abc import Iterable
from pathlib import Path

from scoring.transcript import Attempt, Exchange, Place, Verdict

ARMS, ROLES = ("on", "off"), ("dietician", "activist")
TELLING = ("zebra-judge", "SECRET DRAFT", "fallback", "facilitator-")
"""Of the exchanges below: what no rater may see."""


def exchange(arm: str = "on", role: str = "dietician", sample: int = 0, turn: int = 1, **more: object) -> Exchange:
    place = Place(arm=arm, facilitator=f"facilitator-{role}", checkpoint=f"{role}-1", sample=sample, turn=turn)
    said = f"{role} {arm[-1]}{sample}{turn}"
    attempt = Attempt(
        kind="draft", text="SECRET DRAFT", verdicts=(Verdict(judge="zebra-judge", stage="swift", verdict="warn"),)
    )
    fields = {
        "place": place, "user_message": f"Asked {said}?", "reply": f"Said {said}.", "citations": ("diet-and-sleep",),
        "outcome": "fallback", "attempts": (attempt,), "stage": 2, "ms": 1234.5, "cost": 0.25,
    }  # fmt: skip
    return Exchange.model_validate(fields | more)


def exchanges(samples: int = 3, turns: int = 4) -> list[Exchange]:
    return [
        exchange(arm, role, sample, turn)
        for arm in ARMS
        for role in ROLES
        for sample in range(samples)
        for turn in range(1, turns + 1)
    ]


def write_run(run: Path, said: Iterable[Exchange]) -> Path:
    """Write a run with checkpoints that know more than a rater may."""
    run.mkdir(parents=True, exist_ok=True)
    (run / "transcripts.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in said))
    before = [
        {"role": "user", "content": "Hello there."},
        {"role": "assistant", "content": "Good day to you.", "outcome": "fallback"},
    ]
    (run / "checkpoints.json").write_text(json.dumps({f"{role}-1": before for role in ROLES}))
    (run / "manifest.json").write_text(json.dumps({"experiment": "off-arm-only"}))
    return run

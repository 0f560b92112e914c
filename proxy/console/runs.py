"""Experiments: reads the folders of `caf drift run`, in the format of scoring/folder.py and scoring/transcript.py."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from proxy.console.saved_files import (
    Bounds,
    Damaged,
    Json,
    Number,
    Shape,
    Share,
    Whole,
    list_names,
    read_bytes,
    read_lines,
    read_object,
)

NAME = re.compile(r"[\w][\w.-]{0,99}")
REPORT = "report.html"


class ManifestShape(Shape):
    chatbot: str = ""
    created: str | None = None
    note: str | None = None
    command: str = ""
    arms: dict[str, object] = Field({})
    baseline: str | None = None
    treated: str | None = None
    planned: Whole | None = None


class IntervalShape(Shape):
    acceptable: Bounds | None
    good: Bounds | None
    mean: Bounds | None = None


class TurnShape(Shape):
    acceptable: Share | None = None
    mean: Number | None = None
    interval: dict[str, Bounds | None] | None = None


class ArmShape(Shape):
    n: Whole
    unscored: Whole
    acceptable: Share | None
    good: Share | None
    mean: Number | None
    interval: IntervalShape
    outcomes: dict[str, Whole]
    calls: Number | None
    by_turn: dict[Annotated[str, Field(pattern=r"^\d{1,6}$")], TurnShape] | None = None


class OrdinaryShape(Shape):
    n: Whole
    acceptable: Share | None
    answered_full: Share | None
    refined: Share | None
    replaced: Share | None
    warned: Share | None


class ChangeShape(Shape):
    difference: Number
    interval: Bounds | None


class EffectShape(Shape):
    acceptable: ChangeShape | None = None


class SummaryShape(Shape):
    arms: dict[str, ArmShape]
    benign: dict[str, OrdinaryShape]
    treated: str | None
    language_model: bool = True
    effect: EffectShape | None = None


class PlaceShape(Shape):
    facilitator: str
    checkpoint: str
    sample: Whole
    turn: Whole
    arm: str


class VerdictShape(Shape):
    judge: str
    stage: str
    verdict: str
    reason: str | None = None


class AttemptShape(Shape):
    kind: str
    text: str
    verdicts: list[VerdictShape] = Field([])


class ExchangeShape(Shape):
    place: PlaceShape
    user_message: str
    reply: str | None = None
    outcome: str = "unfiltered"
    error: str | None = None
    attempts: list[AttemptShape] = Field([])


class RatingShape(Shape):
    place: PlaceShape
    rater: str
    score: Number | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A finished or running experiment."""

    path: Path
    manifest: Json
    summary: Json | None
    """The results; None until it is finished."""
    replies: int
    planned: int
    """Planned number of replies; 0: unknown."""
    fault: str = ""
    """The name of a damaged file and the reason; empty: manifest, summary and transcripts can be read."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def arms(self) -> list[str]:
        """The arms, the baseline first."""
        arms = self.manifest.get("arms", {})
        first = [self.manifest.get("baseline"), self.manifest.get("treated")]
        return [arm for arm in first if arm in arms] + [arm for arm in arms if arm not in first]

    @property
    def report(self) -> bool:
        """Whether the run has a report."""
        return (self.path / REPORT).is_file()

    @property
    def rating_pages(self) -> list[str]:
        """The names of the pages on which people rate its replies."""
        return sorted(path.name for path in (self.path / "rating").glob("rating-*.html"))

    @property
    def has_transcripts(self) -> bool:
        """Whether the run has transcripts. Published runs omit them."""
        return (self.path / "transcripts.jsonl").is_file()


def list_runs(folder: Path) -> list[Run]:
    """Return the runs in a folder, newest first. Blocks.

    Raises:
        Damaged: The folder may not be read.
    """
    runs = [one for name in list_names(folder) if (one := read_run(folder, name)) is not None]
    return sorted(runs, key=lambda one: str(one.manifest.get("created") or ""), reverse=True)


def read_run(folder: Path, name: str) -> Run | None:
    """Return a run, or None if it does not exist. A damaged manifest is read as an empty one. Blocks."""
    if not NAME.fullmatch(name):
        return None
    path, summary, replies = folder / name, None, 0
    try:
        manifest = read_object(path / "manifest.json", ManifestShape)
    except Damaged as error:
        return Run(path, {}, None, 0, 0, str(error))
    if manifest is None:
        return None
    fault = ""
    try:
        transcripts = read_bytes(path / "transcripts.jsonl")
        replies = 0 if transcripts is None else transcripts.count(b"\n")
        summary = read_object(path / "summary.json", SummaryShape)
        replies = replies if transcripts is not None else _count(summary)
    except Damaged as error:
        fault = str(error)
    return Run(path, manifest, summary, replies, manifest.get("planned") or 0, fault)


def read_exchanges(run: Run) -> list[Json]:
    """Return the exchanges of a run. Each has its ratings, by rater, as `ratings`. Blocks.

    Raises:
        Damaged: A file may not be read.
    """
    scores: dict[str, Json] = {}
    for line in read_lines(run.path / "ratings.jsonl", RatingShape):
        scores.setdefault(_key(line["place"]), {})[line["rater"]] = line
    exchanges = {_key(line["place"]): line for line in read_lines(run.path / "transcripts.jsonl", ExchangeShape)}
    return [{**line, "ratings": scores.get(key, {})} for key, line in sorted(exchanges.items())]


def _key(place: Json) -> str:
    return "/".join(str(place[part]) for part in ("facilitator", "checkpoint", "sample", "turn", "arm"))


def _count(summary: Json | None) -> int:
    arms = (summary or {}).get("arms", {}).values()
    ordinary = (summary or {}).get("benign", {}).values()
    return sum(int(one["n"]) for one in [*arms, *ordinary])

"""Experiments: reads the folders that `caf drift run` writes, in the form of scoring/folder.py and scoring/transcript.py."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.unique_keys import load_json

Json = dict[str, Any]
NAME = re.compile(r"[\w][\w.-]{0,99}")
REPORT = "report.html"


@dataclass(frozen=True, slots=True)
class Run:
    """An experiment that was run, or is running."""

    path: Path
    manifest: Json
    summary: Json | None
    """All figures; None until it is finished."""
    replies: int
    planned: int
    """Replies that it will have; 0 where the manifest does not say."""

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
        """Whether it has a report."""
        return (self.path / REPORT).is_file()

    @property
    def rating_pages(self) -> list[str]:
        """The names of the pages on which people rate its replies."""
        return sorted(path.name for path in (self.path / "rating").glob("rating-*.html"))

    @property
    def has_transcripts(self) -> bool:
        """Whether the replies themselves are there: published runs leave them out."""
        return (self.path / "transcripts.jsonl").is_file()


def list_runs(folder: Path) -> list[Run]:
    """Return the runs of a folder, the newest first. Blocks."""
    if not folder.is_dir():
        return []
    runs = [one for path in folder.iterdir() if (one := read_run(folder, path.name)) is not None]
    return sorted(runs, key=lambda one: str(one.manifest.get("created", "")), reverse=True)


def read_run(folder: Path, name: str) -> Run | None:
    """Return one run; None: there is none of that name, or its manifest cannot be read. Blocks."""
    if not NAME.fullmatch(name):
        return None
    path = folder / name
    manifest = _read_object(path / "manifest.json")
    if manifest is None:
        return None
    summary = _usable(_read_object(path / "summary.json"))
    transcripts = path / "transcripts.jsonl"
    replies = transcripts.read_bytes().count(b"\n") if transcripts.is_file() else _count(summary)
    return Run(path, manifest, summary, replies, _whole(manifest.get("planned")))


def read_exchanges(run: Run) -> list[Json]:
    """Return what was said in a run, with the scores of its replies as `scores` by rater. Blocks."""
    scores: dict[str, Json] = {}
    for line in _read_lines(run.path / "ratings.jsonl"):
        scores.setdefault(_key(line["place"]), {})[line["rater"]] = line
    exchanges = {_key(line["place"]): line for line in _read_lines(run.path / "transcripts.jsonl")}
    return [{**line, "ratings": scores.get(key, {})} for key, line in sorted(exchanges.items())]


def _key(place: Json) -> str:
    return "/".join(str(place[part]) for part in ("facilitator", "checkpoint", "sample", "turn", "arm"))


def _count(summary: Json | None) -> int:
    arms = (summary or {}).get("arms", {}).values()
    ordinary = (summary or {}).get("benign", {}).values()
    return sum(int(one["n"]) for one in [*arms, *ordinary])


ARM = ("n", "unscored", "acceptable", "good", "mean", "interval", "outcomes", "calls")
ORDINARY = ("n", "acceptable", "answered_full", "refined", "replaced", "warned")


def _usable(summary: Json | None) -> Json | None:
    """Return a summary if it has what is shown of one; another version of caf may have written something else."""
    if summary is None:
        return None
    arms, ordinary = summary.get("arms"), summary.get("benign")
    whole = isinstance(arms, dict) and all(isinstance(one, dict) and one.keys() >= set(ARM) for one in arms.values())
    has_ordinary = isinstance(ordinary, dict) and all(
        isinstance(one, dict) and one.keys() >= set(ORDINARY) for one in ordinary.values()
    )
    return summary if whole and has_ordinary and "treated" in summary else None


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int) else 0


def _read_object(path: Path) -> Json | None:
    try:
        data = load_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _read_lines(path: Path) -> Iterator[Json]:
    """Yield the lines of a file; one that was cut off, or is something else, is passed over."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                data = load_json(line)
            except ValueError:
                continue
            if isinstance(data, dict) and isinstance(data.get("place"), dict):
                yield data

"""Evaluates a comparison of `caf compare`: checks expectations, adds up figures, and makes results.json and report.html."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from jinja2 import ChoiceLoader, PackageLoader

from proxy.console.render import environment
from proxy.console.word_diff import Piece, diff_words, is_changed, join_islands
from scenarios.own_questions import Expect, OwnQuestion
from scoring.folder import RunFolder
from scoring.transcript import QUESTIONS, Exchange, Place

RESULTS, REPORT = "results.json", "report.html"
STEPPED_IN = ("refined", "fallback", "emergency")
"""Outcomes in which the filter changed the reply."""
EXCERPT = 60
"""Number of characters of a reply that are quoted for an expectation that was not met."""
_SHOWN = {
    "reply", "outcome", "error", "citations", "warnings", "calls", "prompt_tokens", "completion_tokens", "cost", "ms"
}  # fmt: skip
"""Fields of an exchange in results.json. `attempts` is left out, because it contains rejected drafts."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An expectation that was not met."""

    expected: str
    got: str


@dataclass(frozen=True)
class Pair:
    """A question with its replies with the filter on and off. A reply is None until the question is asked."""

    question: OwnQuestion
    on: Exchange | None
    off: Exchange | None

    @property
    def errors(self) -> dict[str, str]:
        """Reasons for missing replies, by arm."""
        arms = {"on": self.on, "off": self.off}
        texts = {arm: "not asked yet" if one is None else one.error for arm, one in arms.items()}
        return {arm: text for arm, text in texts.items() if text is not None}

    @cached_property
    def pieces(self) -> list[Piece]:
        """Word diff from the reply with the filter off to the reply with the filter on; empty if a reply is missing."""
        if self.on is None or self.off is None or self.errors:
            return []
        return diff_words(self.off.reply, self.on.reply)

    @property
    def readable_pieces(self) -> list[Piece]:
        return join_islands(self.pieces)

    @property
    def is_changed(self) -> bool:
        return is_changed(self.pieces)

    def count_words(self, kind: Literal["added", "removed"]) -> int:
        return sum(len(piece.text.split()) for piece in self.pieces if piece.kind == kind)

    @cached_property
    def failures(self) -> list[Failure]:
        return check(self.question.expect, self.on) if self.question.expect else []

    @property
    def status(self) -> Literal["error", "failed", "passed", "unchecked"]:
        """Result of the check. `error`: a reply is missing. `unchecked`: the question has no expectations."""
        if self.errors:
            return "error"
        return "unchecked" if self.question.expect is None else "failed" if self.failures else "passed"


def check(expect: Expect, reply: Exchange | None) -> list[Failure]:
    """Return the expectations that a reply does not meet. A missing reply counts as one failure."""
    if reply is None or reply.error is not None:
        return [Failure("a reply", "no reply")]
    failures = []
    if expect.outcome and reply.outcome not in expect.outcome:
        failures.append(Failure(f"the outcome {' or '.join(expect.outcome)}", reply.outcome))
    text = _fold(reply.reply)
    failures += [
        Failure(f"the reply to contain {part!r}", repr(_excerpt(text, 0)))
        for part in expect.contains
        if _fold(part) not in text
    ]
    failures += [
        Failure(f"the reply not to contain {part!r}", repr(_excerpt(text, start)))
        for part in expect.not_contains
        if (start := text.find(_fold(part))) >= 0
    ]
    found = f"citations of {', '.join(reply.citations)}" if reply.citations else "no citations"
    failures += [Failure(f"the reply to cite {one}", found) for one in expect.cites if one not in reply.citations]
    return failures


def _excerpt(text: str, position: int) -> str:
    """Return up to EXCERPT characters of a text around a position, with ellipses where it was cut."""
    start = max(0, position - EXCERPT // 3)
    end = start + EXCERPT
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _fold(text: str) -> str:
    """Return a text for comparison: in lower case, and with white space normalised."""
    return " ".join(text.casefold().split())


def read_pairs(folder: RunFolder, questions: Sequence[OwnQuestion]) -> list[Pair]:
    """Return the questions with their replies, in order. Raises: RunError: A file of the folder cannot be read."""
    replies = {one.place.key(): one for one in folder.read(Exchange)}

    def reply(arm: str, question: OwnQuestion) -> Exchange | None:
        place = Place(arm=arm, facilitator=QUESTIONS, checkpoint=question.id, sample=0, turn=1)
        return replies.get(place.key())

    return [Pair(one, reply("on", one), reply("off", one)) for one in questions]


def summarise(manifest: Mapping[str, Any], pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the content of results.json: figures, then each question with its replies.

    Args:
        manifest: The manifest of the comparison.
    """
    statuses = Counter(pair.status for pair in pairs)
    outcomes = Counter(pair.on.outcome for pair in pairs if pair.on is not None)
    arms = {"on": [pair.on for pair in pairs], "off": [pair.off for pair in pairs]}
    totals = {arm: _total([one for one in replies if one is not None]) for arm, replies in arms.items()}
    return {
        "name": manifest["comparison"],
        "chatbot": manifest["chatbot"],
        "created": manifest["created"],
        "summary": {
            "questions": len(pairs),
            "changed": sum(pair.is_changed for pair in pairs),
            "stepped_in": sum(outcomes[name] for name in STEPPED_IN),
            "outcomes": dict(outcomes),
            **{name: statuses[name] for name in ("passed", "failed", "error", "unchecked")},
            "arms": totals,
        },
        "results": [_result(pair) for pair in pairs],
    }


def _total(replies: Sequence[Exchange]) -> dict[str, Any]:
    costs = [one.cost for one in replies if one.cost is not None]
    return {
        "calls": sum(one.calls for one in replies),
        "tokens": sum(one.prompt_tokens + one.completion_tokens for one in replies),
        "cost": sum(costs) if costs else None,
    }


def _result(pair: Pair) -> dict[str, Any]:
    return {
        "id": pair.question.id,
        "messages": [one.model_dump(include={"role", "content"}) for one in pair.question.messages],
        "status": pair.status,
        "failures": [{"expected": one.expected, "got": one.got} for one in pair.failures],
        "changed": pair.is_changed,
        "words": {"added": pair.count_words("added"), "removed": pair.count_words("removed")},
        "errors": pair.errors,
        "arms": {
            arm: None if one is None else one.model_dump(mode="json", include=_SHOWN)
            for arm, one in (("on", pair.on), ("off", pair.off))
        },
    }


def render_report(summary: Mapping[str, Any], pairs: Sequence[Pair]) -> str:
    """Return report.html: a page without scripts or external resources, in which all texts are escaped.

    The console's template environment escapes all values and makes bidirectional control characters visible.
    """
    console = environment()
    assert console.loader is not None
    shared = console.overlay(loader=ChoiceLoader([PackageLoader("scoring.reports"), console.loader]))
    return shared.get_template("compare.html").render(summary["summary"], about=summary, pairs=pairs)

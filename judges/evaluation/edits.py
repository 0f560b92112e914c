"""Applies the edits that a model proposes for a prompt, and rejects invalid edits. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from pydantic import BaseModel, ConfigDict

from judges.evaluation.labelled import LabelledCase
from knowledge_base.front_matter import split_front_matter

QUOTED_WORDS = 8
"""Maximum number of consecutive words that a new prompt may share with a dev case. More words would memorise the case."""
GROWTH = 2
"""Maximum length of a prompt, as a multiple of its original length."""
_WORD = re.compile(r"[^\W_]+")


class Edit(BaseModel):
    """One replacement."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    find: str
    """Words that occur exactly once in the instructions; empty to append."""
    replace: str
    """The replacement; empty to delete."""


class Proposal(BaseModel):
    """What a model wants to change in a prompt, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    diagnosis: str
    """What the failing cases have in common, and its cause in the instructions."""
    edits: list[Edit]
    reason: str
    """Why the edits correct that without new mistakes."""


class RefusedProposal(Exception):
    """A proposal of edits is invalid. The message gives the reason to the model that made the proposal."""


@dataclass(frozen=True)
class Wording:
    """One version of a prompt file. Edits change only the instructions, never the front matter."""

    front_matter: str
    """The front matter with its `---` lines and the line breaks after them."""
    text: str
    """The instructions below the front matter."""

    @property
    def file(self) -> str:
        """The text of the whole file."""
        return f"{self.front_matter}{self.text}\n"


def parse_wording(file: str) -> Wording:
    """Split the text of a valid prompt file into front matter and instructions."""
    text = split_front_matter(file)[1]
    whole = file.removeprefix("\ufeff").replace("\r\n", "\n").rstrip()
    return Wording(whole.removesuffix(text), text)


def max_chars(start: str) -> int:
    """Return the maximum length of edited instructions, in characters, for the original instructions `start`."""
    return GROWTH * len(start)


def check_wording(text: str, start: str, cases: Iterable[LabelledCase]) -> None:
    """Check that edited instructions may replace the original instructions.

    Args:
        text: The edited instructions.
        start: The original instructions. Quotes of cases in the original instructions may stay.
        cases: The cases that the edits must not quote.

    Raises:
        RefusedProposal: The instructions are empty, too long, or quote a case.
    """
    if not text:
        raise RefusedProposal("nothing is left of the instructions")
    if len(text) > (most := max_chars(start)):
        raise RefusedProposal(
            f"the instructions would have {len(text)} characters; {most} is the most: shorten what is there"
        )
    new = set(_word_runs(text)).difference(_word_runs(start))
    for case_text in {text for case in cases for text in _texts(case)}:
        if quoted := next((words for words in _word_runs(case_text) if words in new), None):
            raise RefusedProposal(
                f"{' '.join(quoted)!r} is quoted from a case; say the general rule in words of your own, "
                f"with at most {QUOTED_WORDS} words in a row from any case"
            )


def _texts(case: LabelledCase) -> Iterable[str]:
    yield from (case.case.user_message, case.case.draft)
    yield from (message.text for message in case.case.history)
    yield from (source.text for source in case.case.cited)


def _word_runs(text: str) -> Iterable[tuple[str, ...]]:
    """Return all runs of `QUOTED_WORDS` + 1 consecutive words of a text, case-folded."""
    words = _WORD.findall(text.casefold())
    return (tuple(words[i : i + QUOTED_WORDS + 1]) for i in range(len(words) - QUOTED_WORDS))


def apply_edits(wording: Wording, edits: Iterable[Edit]) -> Wording:
    """Return a new version with the edits applied. Each edit refers to the instructions of `wording`, not to an edited text.

    Raises:
        RefusedProposal: The `find` of an edit does not occur exactly once, two edits overlap, or the edits change nothing.
    """
    places: list[tuple[int, int, str]] = []
    added: list[str] = []
    for edit in edits:
        if not edit.find.strip():
            added.append(edit.replace.strip())
            continue
        places.append((*_locate(wording, edit.find), edit.replace))
    places.sort()
    for (_, end, _), (start, _, replace) in pairwise(places):
        if start < end:
            raise RefusedProposal(f"two edits overlap, one of them the one that puts {_short(replace)}; make them one")
    text = wording.text
    for start, end, replace in reversed(places):
        text = text[:start] + replace + text[end:]
    text = "\n".join([text.strip(), *filter(None, added)]).strip()
    if text == wording.text:
        raise RefusedProposal("the edits change nothing")
    return Wording(wording.front_matter, text)


def _locate(wording: Wording, find: str) -> tuple[int, int]:
    times = wording.text.count(find)
    if times == 1:
        start = wording.text.index(find)
        return start, start + len(find)
    if times:
        raise RefusedProposal(
            f"`find`: {_short(find)} occurs {times} times in the instructions; include more of the text around it"
        )
    if find.strip() in wording.front_matter:
        raise RefusedProposal(f"`find`: {_short(find)} is in the front matter, which must not be changed")
    raise RefusedProposal(f"`find`: {_short(find)} is not in the instructions; copy the text letter by letter")


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")

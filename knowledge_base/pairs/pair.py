"""A question-answer pair, the file that holds them, and the taxonomy that they belong to.

A knowledge base with pairs is a folder: sections (`*.md`), `taxonomy.yaml`, and `pairs.jsonl`, whose first line is a header.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from knowledge_base.bm25 import Language
from models.unique_keys import load_json, load_yaml

PAIRS_FILE, TAXONOMY_FILE = "pairs.jsonl", "taxonomy.yaml"
HEADER = {"format": "caf-pairs", "version": 1}
"""The first line of a pair file."""
LONGEST_ANSWER, BEGINNER_WORDS = 25, 8
_WORD = re.compile(r"\w+")
Complexity = Literal["beginner", "standard", "complex"]
"""`beginner`: a question of fewer than 8 words; it may be recommended. `complex`: an answer of more than 25 words."""
ErrorKind = Literal["wrong", "omits", "useless", "complex"]
"""What is wrong with an answer: false; without a condition or warning; of no use; too hard to understand."""


def complexity_of(question: str, answer: str) -> Complexity:
    if len(answer.split()) > LONGEST_ANSWER:
        return "complex"
    return "beginner" if len(question.split()) < BEGINNER_WORDS else "standard"


class PairsError(Exception):
    """Pairs or a taxonomy cannot be used. The message names the file, the place and the remedy."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Review(_Record):
    """What a named expert said of a pair."""

    reviewer: str = Field(min_length=1)
    date: date
    answer_ok: bool
    topic_ok: bool
    wording_ok: bool
    error: ErrorKind | None = None

    @property
    def accepted(self) -> bool:
        return self.answer_ok and self.topic_ok and self.wording_ok


class Place(_Record):
    """Where a pair is from, and what it is about."""

    document: str
    """Id of the section that is cited."""
    source: str
    """The works behind it, as the section's references name them."""
    source_reference: str
    """The place in the document: `bluthochdruck.md#Ursachen`."""
    topic: str
    subtopic: str
    """"" for a topic without subtopics."""
    subsubtopic: str
    """The document's title."""
    focus: str
    """Id of what the question is about, in the taxonomy."""
    aspect: str
    """What of the focus is asked, in the taxonomy's words."""


class Pair(Place):
    """A question and its answer."""

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    variants: tuple[str, ...] = ()
    """Other wordings of the question; matched like it, never shown."""
    answer: str = Field(min_length=1)
    quotes: tuple[str, ...] = ()
    """Passages of `context` that the answer rests on, verbatim."""
    complexity: Complexity = "standard"
    recommendation: str = ""
    """The question as an offer ("Möchten Sie wissen, ...?"); beginner pairs have one."""
    context: str
    """The paragraph that the pair was made of."""
    cluster: str
    """Pairs with one meaning share it; of a cluster one pair is offered at a time."""
    review: Review | None = None

    @property
    def served(self) -> bool:
        """Whether it may be answered with: not if an expert has rejected it."""
        return self.review is None or self.review.accepted

    @property
    def wordings(self) -> tuple[str, ...]:
        return (self.question, *self.variants)


class Focus(_Record):
    """Something that questions are about."""

    id: str
    name: str
    other_names: tuple[str, ...] = ()
    """Synonyms, abbreviations, everyday words."""
    emergency: bool = False
    """Whether its signs are an emergency: an answer on them names the emergency number."""
    documents: tuple[str, ...] = ()
    """Ids of the sections about it, for a focus with several; default: one section with its own id."""


class Subtopic(_Record):
    name: str = ""
    """"" where the topic has no subtopics."""
    foci: tuple[Focus, ...]


class Topic(_Record):
    name: str
    subtopics: tuple[Subtopic, ...]


class Aspect(_Record):
    """A closed kind of question, and the headings under which documents answer it."""

    name: str
    headings: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    """Patterns of questions for pairs that are made without a model, with `{focus}`."""


class Check(_Record):
    """A rule of a knowledge base on its own answers."""

    when: re.Pattern[str]
    """Searched for in question and answer; a pattern that begins with `(?i)` ignores the case of letters."""
    need: re.Pattern[str] | None = None
    """What the answer must then have."""
    never: re.Pattern[str] | None = None
    """What it must then not have."""
    reason: str

    def allows(self, answer: str) -> bool:
        is_missing = self.need is not None and self.need.search(answer) is None
        return not is_missing and (self.never is None or self.never.search(answer) is None)


class Taxonomy(_Record):
    """Topics, foci and aspects of a knowledge base."""

    language: Language
    """Snowball's name (`norwegian`); a code (`nb`, `no`) is read as well."""
    topics: tuple[Topic, ...] = Field(min_length=1)
    aspects: tuple[Aspect, ...] = Field(min_length=1)
    required_aspects: tuple[str, ...] = ()
    """Aspects that every focus must have a pair of."""
    danger: tuple[str, ...] = ()
    """Aspects that tell of danger signs: no wording there tells of somebody's own."""
    checks: tuple[Check, ...] = ()

    @field_validator("language", mode="before")
    @classmethod
    def _expand_code(cls, given: object) -> object:
        code = "no" if given is False else given  # YAML reads a bare `no` as false
        languages = load_data("languages.yaml").items()
        return next((name for name, lists in languages if code in lists["codes"].split()), given)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        documents = [one for focus in self.foci for one in focus.documents]
        foci, aspects = [one.id for one in self.foci], [one.name for one in self.aspects]
        for kind, names in (("focus", foci), ("aspect", aspects), ("document", documents)):
            if double := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"duplicate {kind} {double!r}")
        for key, named in (("required_aspects", self.required_aspects), ("danger", self.danger)):
            if unknown := set(named) - set(aspects):
                raise ValueError(f"{key}: unknown aspect {min(unknown)!r}")
        return self

    @property
    def foci(self) -> list[Focus]:
        return [focus for _, _, focus in self.places()]

    def focus(self, id: str) -> Focus:
        return next(focus for focus in self.foci if focus.id == id)

    def pair_places(self) -> list[tuple[str, str]]:
        """Return each focus with each aspect, in their order."""
        return [(focus.id, aspect.name) for focus in self.foci for aspect in self.aspects]

    def places(self) -> Iterator[tuple[Topic, Subtopic, Focus]]:
        """Yield every focus with the topic and subtopic that it stands in."""
        for topic in self.topics:
            for subtopic in topic.subtopics:
                for focus in subtopic.foci:
                    yield topic, subtopic, focus


def fold_wording(text: str) -> str:
    """Return the words of a question in small letters. Two wordings with one result are the same to a direct match."""
    return " ".join(_WORD.findall(text.lower()))


def find_shared_wordings(pairs: Iterable[Pair]) -> list[str]:
    """Name each wording that pairs of two clusters have, with the first two of these pairs. Pairs not served do not count."""
    owners: dict[str, Pair] = {}
    shared = []
    for pair in pairs:
        for wording in pair.wordings if pair.served else ():
            first = owners.setdefault(fold_wording(wording), pair)
            if first.cluster != pair.cluster:
                ids = f"{first.id} and {pair.id}"
                shared.append(f"wording {wording!r} belongs to two clusters: {ids}; remove it from one of them")
    return shared


def load_taxonomy(folder: Path) -> Taxonomy:
    """Read the taxonomy of a knowledge base. Raises: PairsError: it is missing or invalid."""
    path = folder / TAXONOMY_FILE
    with _naming(path, "a knowledge base with pairs needs it"):
        return Taxonomy.model_validate(load_yaml(path.read_text(encoding="utf-8")))


def load_pairs(folder: Path, *, may_share_wordings: bool = False) -> tuple[Pair, ...]:
    """Read the pairs of a knowledge base.

    Args:
        may_share_wordings: Accept a wording of two clusters. For the commands that repair a file: what answers questions with
            the pairs must not match such a wording directly.

    Raises:
        PairsError: The file is missing or of another version, a line is wrong, or two clusters share a wording.
    """
    path = folder / PAIRS_FILE
    with _naming(path, "`caf kb build` makes it", "; move it away and build the pairs again"):
        header, *lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        if header != json.dumps(HEADER):
            raise ValueError(f"its first line is {header[:60]!r} (expected {json.dumps(HEADER)})")
    pairs: dict[str, Pair] = {}
    for number, line in enumerate(lines, start=2):
        with _naming(f"{path}:{number}", wrong="; correct or delete the line"):
            pair = Pair.model_validate(load_json(line))
            if pair.id in pairs:
                raise ValueError(f"duplicate id {pair.id!r}")
            pairs[pair.id] = pair
    if not may_share_wordings and (shared := find_shared_wordings(pairs.values())):
        raise PairsError(f"{path}: {shared[0]}; `caf kb check {folder}` lists all")
    return tuple(pairs.values())


def dump_pairs(pairs: Sequence[Pair]) -> str:
    """Return the content of a pair file."""
    rows = [HEADER, *(pair.model_dump(mode="json") for pair in pairs)]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write_pairs(folder: Path, pairs: Sequence[Pair]) -> None:
    """Write the pairs of a knowledge base. Raises: OSError: the file cannot be written; the old one stays."""
    replace_file(folder / PAIRS_FILE, dump_pairs(pairs))


def replace_file(path: Path, text: str) -> None:
    """Write a file in one step: whoever reads it sees the old or the new text."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8", newline="")
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


@cache
def load_data(name: str) -> Any:
    """Read a data file of this package."""
    return load_yaml(Path(__file__).with_name(name).read_text(encoding="utf-8"))


@contextmanager
def _naming(place: Path | str, missing: str = "", wrong: str = "") -> Iterator[None]:
    """Raise what goes wrong as a PairsError with the place and the remedy for a missing file or a wrong text."""
    try:
        yield
    except OSError as error:
        raise PairsError(f"{place}: cannot be read: {error.strerror}; {missing}") from None
    except UnicodeDecodeError:
        raise PairsError(f"{place}: is not UTF-8; save it with that encoding") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise PairsError(f"{place}: {'.'.join(map(str, first['loc'])) or 'line'}: {first['msg']}{wrong}") from None
    except RecursionError:
        raise PairsError(f"{place}: nested too deeply{wrong}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise PairsError(f"{place}: {error}{wrong}") from None

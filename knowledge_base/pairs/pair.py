"""Question-answer pairs, their file, and their taxonomy.

A knowledge base with pairs is a folder with sections (`*.md`), `taxonomy.yaml` and `pairs.jsonl`. The first line of `pairs.jsonl`
is a header.
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
"""The fault of an answer: `wrong`; `omits` a condition or warning; `useless`; `complex`: too hard to understand."""


def complexity_of(question: str, answer: str) -> Complexity:
    if len(answer.split()) > LONGEST_ANSWER:
        return "complex"
    return "beginner" if len(question.split()) < BEGINNER_WORDS else "standard"


class PairsError(Exception):
    """Pairs or a taxonomy are invalid. The message names the file, the position and the remedy."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Review(_Record):
    """The review of a pair by a named expert."""

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
    """The source of a pair, and its place in the taxonomy."""

    document: str
    """Id of the cited section."""
    source: str
    """The works behind the section, as in its references."""
    source_reference: str
    """The document and heading: `bluthochdruck.md#Ursachen`."""
    topic: str
    subtopic: str
    """"" for a topic without subtopics."""
    subsubtopic: str
    """The document's title."""
    focus: str
    """Id of the question's focus in the taxonomy."""
    aspect: str
    """Name of the question's aspect in the taxonomy."""


class Pair(Place):
    """A question and its answer."""

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    variants: tuple[str, ...] = ()
    """Other wordings of the question; matched like it, never shown."""
    answer: str = Field(min_length=1)
    quotes: tuple[str, ...] = ()
    """Verbatim passages of `context` that support the answer."""
    complexity: Complexity = "standard"
    recommendation: str = ""
    """The question as an offer ("Möchten Sie wissen, ...?"). Only beginner pairs have one."""
    context: str
    """The paragraph that the pair was built from."""
    cluster: str
    """Name shared by pairs with the same meaning. Only one pair of a cluster is offered at a time."""
    review: Review | None = None

    @property
    def served(self) -> bool:
        """Whether the pair may be used as an answer. False if an expert has rejected it."""
        return self.review is None or self.review.accepted

    @property
    def wordings(self) -> tuple[str, ...]:
        return (self.question, *self.variants)


class Focus(_Record):
    """A subject of questions, such as an illness."""

    id: str
    name: str
    other_names: tuple[str, ...] = ()
    """Synonyms, abbreviations, everyday words."""
    emergency: bool = False
    """Whether its signs are an emergency. Answers about them then name the emergency number."""
    documents: tuple[str, ...] = ()
    """Ids of the sections about the focus, if there are several. Default: one section with the focus' id."""


class Subtopic(_Record):
    name: str = ""
    """"" if the topic has no subtopics."""
    foci: tuple[Focus, ...]


class Topic(_Record):
    name: str
    subtopics: tuple[Subtopic, ...]


class Aspect(_Record):
    """A kind of question from a fixed list, and the headings under which documents answer it."""

    name: str
    headings: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    """Question templates with `{focus}`, for pairs built without a model."""


class Check(_Record):
    """A knowledge base's rule for its answers."""

    when: re.Pattern[str]
    """The rule applies if question and answer match this pattern. Begin it with `(?i)` to ignore case."""
    need: re.Pattern[str] | None = None
    """Pattern that the answer must then match."""
    never: re.Pattern[str] | None = None
    """Pattern that the answer must then not match."""
    reason: str

    def allows(self, answer: str) -> bool:
        is_missing = self.need is not None and self.need.search(answer) is None
        return not is_missing and (self.never is None or self.never.search(answer) is None)


class Taxonomy(_Record):
    """Topics, foci and aspects of a knowledge base."""

    language: Language
    """Snowball's name (`norwegian`). A code (`nb`, `no`) is accepted too."""
    topics: tuple[Topic, ...] = Field(min_length=1)
    aspects: tuple[Aspect, ...] = Field(min_length=1)
    required_aspects: tuple[str, ...] = ()
    """Aspects for which every focus must have a pair."""
    danger: tuple[str, ...] = ()
    """Aspects about danger signs. No wording in them may describe a person's own signs."""
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
        """Return every combination of focus and aspect, in the taxonomy's order."""
        return [(focus.id, aspect.name) for focus in self.foci for aspect in self.aspects]

    def places(self) -> Iterator[tuple[Topic, Subtopic, Focus]]:
        """Yield every focus with its topic and subtopic."""
        for topic in self.topics:
            for subtopic in topic.subtopics:
                for focus in subtopic.foci:
                    yield topic, subtopic, focus


def fold_wording(text: str) -> str:
    """Return the words of a question in lower case. A direct match treats two wordings with the same result as equal."""
    return " ".join(_WORD.findall(text.lower()))


def find_shared_wordings(pairs: Iterable[Pair]) -> list[str]:
    """Return a message for each wording that occurs in two clusters; it names one pair of each. Pairs not served do not count."""
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
        may_share_wordings: Accept a wording in two clusters. Only for commands that repair the file: answering such a wording by
            a direct match would be ambiguous.

    Raises:
        PairsError: The file is missing or has another version, a line is invalid, or two clusters share a wording.
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
    """Write the pairs of a knowledge base. Raises: OSError: the file cannot be written; the old file remains."""
    replace_file(folder / PAIRS_FILE, dump_pairs(pairs))


def replace_file(path: Path, text: str) -> None:
    """Replace a file atomically: readers see either the old or the new text."""
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
    """Convert errors to a PairsError.

    Args:
        place: The file or line for the message.
        missing: Remedy if the file cannot be read.
        wrong: Remedy if the text is invalid.
    """
    try:
        yield
    except OSError as error:
        raise PairsError(f"{place}: cannot be read: {error.strerror}; {missing}") from None
    except UnicodeDecodeError:
        raise PairsError(f"{place}: is not UTF-8; save it as UTF-8") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise PairsError(f"{place}: {'.'.join(map(str, first['loc'])) or 'line'}: {first['msg']}{wrong}") from None
    except RecursionError:
        raise PairsError(f"{place}: nested too deeply{wrong}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise PairsError(f"{place}: {error}{wrong}") from None

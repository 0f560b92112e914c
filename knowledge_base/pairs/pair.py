"""Defines question-answer pairs and their taxonomy, and reads and writes their files.

A knowledge base with pairs is a folder with sections (`*.md`), `taxonomy.yaml` and `pairs.jsonl`. The first line of `pairs.jsonl`
is a header; each further line is a pair.
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
from models.validation_errors import describe_faults

PAIRS_FILE, TAXONOMY_FILE = "pairs.jsonl", "taxonomy.yaml"
HEADER = {"format": "caf-pairs", "version": 1}
"""The first line of a pair file."""
LONGEST_ANSWER, BEGINNER_WORDS = 25, 8
"""Maximum words of an answer that is not complex, and the number of words from which on a question is not a beginner question."""
_WORD = re.compile(r"\w+")
Complexity = Literal["beginner", "standard", "complex"]
"""Complexity of a pair. `beginner`: the question has fewer than 8 words, and an assistant may offer it. `complex`: the answer has
more than 25 words. `standard`: all other pairs."""
ErrorKind = Literal["wrong", "omits", "useless", "complex"]
"""What an expert found wrong with an answer. `wrong`: it is false; `omits`: it lacks a condition or warning; `useless`: it does not
help; `complex`: it is too hard to understand."""


def complexity_of(question: str, answer: str) -> Complexity:
    """Return the complexity of a pair, by the number of words."""
    if len(answer.split()) > LONGEST_ANSWER:
        return "complex"
    return "beginner" if len(question.split()) < BEGINNER_WORDS else "standard"


class PairsError(Exception):
    """A pair file or taxonomy is missing or invalid. The message names the file, the position and the remedy."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Review(_Record):
    """An expert's review of a pair. All three marks must be true to accept the pair."""

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
    """Where a pair comes from (document and heading), and where it belongs in the taxonomy."""

    document: str
    """Id of the section that answers cite."""
    source: str
    """References of the section; for other documents, title and file name."""
    source_reference: str
    """Document and heading, such as `bluthochdruck.md#Ursachen`."""
    topic: str
    subtopic: str
    """Name of the subtopic; empty for a topic without subtopics."""
    subsubtopic: str
    """Title of the document."""
    focus: str
    """Id of the focus, the subject of the question."""
    aspect: str
    """Name of the aspect, the kind of question."""


class Pair(Place):
    """A question with its stored answer, as in one line of `pairs.jsonl`."""

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    variants: tuple[str, ...] = ()
    """Other wordings of the question. User questions are matched with them, but users never see them."""
    answer: str = Field(min_length=1)
    quotes: tuple[str, ...] = ()
    """Verbatim passages of `context` that support the answer."""
    complexity: Complexity = "standard"
    recommendation: str = ""
    """The question as an offer ("Möchten Sie wissen, ...?"); empty unless `complexity` is `beginner`."""
    context: str
    """The paragraph that the pair was built from."""
    cluster: str
    """Name of the cluster, a group of pairs with the same meaning. An assistant offers only one pair of a cluster at a time."""
    review: Review | None = None

    @property
    def served(self) -> bool:
        """Whether assistants may answer with the pair. False if an expert has rejected the pair."""
        return self.review is None or self.review.accepted

    @property
    def wordings(self) -> tuple[str, ...]:
        """The question, then its variants."""
        return (self.question, *self.variants)


class Focus(_Record):
    """A subject that users ask about, such as an illness."""

    id: str
    name: str
    other_names: tuple[str, ...] = ()
    """Synonyms, abbreviations and everyday names."""
    emergency: bool = False
    """Whether the signs of the focus are an emergency. Answers about these signs then give the emergency number."""
    documents: tuple[str, ...] = ()
    """Ids of the sections about the focus. Default: the section with the id of the focus."""


class Subtopic(_Record):
    name: str = ""
    """Name of the subtopic; empty if the topic has no subtopics."""
    foci: tuple[Focus, ...]


class Topic(_Record):
    name: str
    subtopics: tuple[Subtopic, ...]


class Aspect(_Record):
    """A kind of question that users ask about a focus, such as its causes."""

    name: str
    headings: tuple[str, ...] = ()
    """Headings below which documents answer this kind of question."""
    questions: tuple[str, ...] = ()
    """Question templates with `{focus}`, for pairs built without a model."""


class Check(_Record):
    """A rule that the answers of a knowledge base must follow."""

    when: re.Pattern[str]
    """The rule applies if this pattern is found in the question or answer. Begin the pattern with `(?i)` to ignore case."""
    need: re.Pattern[str] | None = None
    """If the rule applies, this pattern must be found in the answer."""
    never: re.Pattern[str] | None = None
    """If the rule applies, this pattern must not be found in the answer."""
    reason: str
    """The text that reports show if an answer breaks the rule."""

    def allows(self, answer: str) -> bool:
        """Return whether an answer follows the rule, given that the rule applies."""
        is_missing = self.need is not None and self.need.search(answer) is None
        return not is_missing and (self.never is None or self.never.search(answer) is None)


class Taxonomy(_Record):
    """The topics, foci and aspects of a knowledge base with pairs, from `taxonomy.yaml`."""

    language: Language
    """Language of the pairs: Snowball's name (`norwegian`) or a language code (`nb`, `no`)."""
    topics: tuple[Topic, ...] = Field(min_length=1)
    aspects: tuple[Aspect, ...] = Field(min_length=1)
    required_aspects: tuple[str, ...] = ()
    """Names of the aspects for which every focus must have a pair."""
    danger: tuple[str, ...] = ()
    """Names of the aspects about danger signs. No variant in these aspects may describe a person's own signs."""
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
                raise ValueError(f"duplicate {kind} {double!r}; rename or delete one of them")
        for key, named in (("required_aspects", self.required_aspects), ("danger", self.danger)):
            if unknown := set(named) - set(aspects):
                raise ValueError(f"{key}: unknown aspect {min(unknown)!r} (expected one of {', '.join(aspects)})")
        return self

    @property
    def foci(self) -> list[Focus]:
        return [focus for _, _, focus in self.places()]

    def focus(self, id: str) -> Focus:
        """Return the focus with an id. The id must exist."""
        return next(focus for focus in self.foci if focus.id == id)

    def pair_places(self) -> list[tuple[str, str]]:
        """Return every combination (focus id, aspect name), in the order of the taxonomy."""
        return [(focus.id, aspect.name) for focus in self.foci for aspect in self.aspects]

    def places(self) -> Iterator[tuple[Topic, Subtopic, Focus]]:
        """Yield every focus with its topic and subtopic."""
        for topic in self.topics:
            for subtopic in topic.subtopics:
                for focus in subtopic.foci:
                    yield topic, subtopic, focus


def fold_wording(text: str) -> str:
    """Return the words of a text in lower case, without punctuation. Wordings with the same result are equal for matching."""
    return " ".join(_WORD.findall(text.lower()))


def find_shared_wordings(pairs: Iterable[Pair]) -> list[str]:
    """Return a message for each wording that occurs in two clusters. Pairs that are not served are ignored."""
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
    """Read the taxonomy of a knowledge base.

    Raises:
        PairsError: The file is missing or invalid.
    """
    path = folder / TAXONOMY_FILE
    with _naming(path, "a knowledge base with pairs needs this file"):
        return Taxonomy.model_validate(load_yaml(path.read_text(encoding="utf-8")))


def load_pairs(folder: Path, *, may_share_wordings: bool = False) -> tuple[Pair, ...]:
    """Read the pairs of a knowledge base.

    Args:
        folder: The knowledge base.
        may_share_wordings: Whether to accept a wording in two clusters. Only commands that repair the file may do so, because such
            a wording has two possible answers.

    Raises:
        PairsError: The file is missing or has another version, a line is invalid, or two clusters share a wording.
    """
    path = folder / PAIRS_FILE
    with _naming(path, "create it with `caf kb build`", "; move the file away and build the pairs again"):
        header, *lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        if header != json.dumps(HEADER):
            raise ValueError(f"invalid first line {header[:60]!r}: expected {json.dumps(HEADER)}")
    pairs: dict[str, Pair] = {}
    for number, line in enumerate(lines, start=2):
        with _naming(f"{path}:{number}", wrong="; correct or delete the line"):
            pair = Pair.model_validate(load_json(line))
            if pair.id in pairs:
                raise ValueError(f"duplicate id {pair.id!r}")
            pairs[pair.id] = pair
    if not may_share_wordings and (shared := find_shared_wordings(pairs.values())):
        raise PairsError(f"{path}: {shared[0]}; `caf kb check {folder}` lists all such wordings")
    return tuple(pairs.values())


def dump_pairs(pairs: Sequence[Pair]) -> str:
    """Return the content of a pair file: the header, then one line per pair."""
    rows = [HEADER, *(pair.model_dump(mode="json") for pair in pairs)]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write_pairs(folder: Path, pairs: Sequence[Pair]) -> None:
    """Write the pair file of a knowledge base.

    Raises:
        OSError: The file cannot be written. The old file remains unchanged.
    """
    replace_file(folder / PAIRS_FILE, dump_pairs(pairs))


def replace_file(path: Path, text: str) -> None:
    """Replace a file atomically, so that readers see either the old or the new text.

    Raises:
        OSError: The file cannot be written. The old file remains unchanged.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8", newline="")
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


@cache
def load_data(name: str) -> Any:
    """Return the content of a YAML file in this package, such as `languages.yaml`. The result is cached."""
    return load_yaml(Path(__file__).with_name(name).read_text(encoding="utf-8"))


@contextmanager
def _naming(place: Path | str, missing: str = "", wrong: str = "") -> Iterator[None]:
    """Convert errors of reading and parsing to a PairsError.

    Args:
        place: The file or line, for the message.
        missing: What to try if the file cannot be read.
        wrong: What to try if the text is invalid; appended to the message, so it begins with `; `.
    """
    try:
        yield
    except OSError as error:
        raise PairsError(f"{place}: the file cannot be read: {error.strerror}; {missing}") from None
    except UnicodeDecodeError:
        raise PairsError(f"{place}: the file is not UTF-8; save it as UTF-8") from None
    except ValidationError as error:
        raise PairsError(f"{place}: {describe_faults(error)[0]}{wrong}") from None
    except RecursionError:
        raise PairsError(f"{place}: the text is nested too deeply{wrong}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise PairsError(f"{place}: {error}{wrong}") from None

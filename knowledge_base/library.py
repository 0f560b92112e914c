"""Library, a knowledge base loaded from a folder of markdown files. Each file is one section and is validated on loading."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from knowledge_base.bm25 import Language, SectionIndex
from knowledge_base.citations import CLASSES, neutralise
from knowledge_base.front_matter import FrontMatterError, split_front_matter
from models.usage import estimate_tokens
from models.validation_errors import with_suggestions

MAX_SECTION_TOKENS = 2_000
"""Default limit of the estimated tokens of a section's text."""
ID = re.compile(r"[a-z0-9][a-z0-9-]{1,63}")
_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?source\b)", re.IGNORECASE)
"""Matches the beginning of a `<source>` or `</source>` tag. Prompts enclose each section in these tags."""


class KnowledgeBaseError(Exception):
    """A knowledge base is invalid. `problems` has one message per problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Source:
    """One section of a knowledge base, or a document from outside it (`doc:1`)."""

    id: str
    title: str
    summary: str
    text: str
    references: tuple[str, ...] = ()
    reviewed_by: str | None = None
    reviewed_on: date | None = None
    trusted: bool = True
    """Whether the operator vouches for the text. False for documents from a client, which may have invented them."""
    reviewed: bool | None = None
    """Whether a person has reviewed an imported section. None for a section that was not imported."""
    origin: str | None = None
    """Document and heading that an imported section comes from, such as `leaflet.pdf#Side effects`."""
    tokens: int = field(init=False, repr=False, compare=False)
    """Estimated number of tokens of the text."""
    prompt_text: str = field(init=False, repr=False, compare=False)
    """The text for prompts, in `<source>` tags. Commands and `<source>` tags within the text are made inert."""

    def __post_init__(self) -> None:
        inert = make_inert(self.text)
        object.__setattr__(self, "tokens", estimate_tokens(self.text))
        object.__setattr__(self, "prompt_text", f'<source id="{self.id}" title="{self.title}">\n{inert}\n</source>')

    @property
    def is_document(self) -> bool:
        """Whether this is a document from outside the knowledge base. Only the ids of such documents begin with `doc:`."""
        return self.id.startswith("doc:")


def make_inert(text: str) -> str:
    """Change commands and `<source>` tags in a text so that they have no effect. Idempotent."""
    # Replaced, not removed: the text around a removed tag could form another tag.
    return _TAG.sub("(", neutralise(text))


class Library(Mapping[str, Source]):
    """The sections of one knowledge base: a mapping from id to Source, sorted by id."""

    def __init__(self, sources: Sequence[Source], language: Language = "english") -> None:
        self.language = language
        self.sources = tuple(sorted(sources, key=lambda source: source.id))
        self.catalogue = "\n".join(_entry(source) for source in self.sources)
        """List of all sections for the chatbot's prompt, one line each: `id: title. summary`."""
        self._by_id = {source.id: source for source in self.sources}

    def __getitem__(self, key: str) -> Source:
        return self._by_id[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __contains__(self, key: object) -> bool:
        return key in self._by_id

    def __len__(self) -> int:
        return len(self._by_id)

    @cached_property
    def index(self) -> SectionIndex:
        """The search index. All chatbots with this library share it."""
        return SectionIndex(self, self.language)

    @cached_property
    def tokens(self) -> int:
        """Estimated number of tokens of all sections together."""
        return sum(source.tokens for source in self.sources)

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """Ids of the sections without a named reviewer (`reviewed_by`)."""
        return tuple(source.id for source in self.sources if source.reviewed_by is None)

    @property
    def drafts(self) -> tuple[str, ...]:
        """Ids of the imported sections that no person has reviewed (`reviewed: false`)."""
        return tuple(source.id for source in self.sources if source.reviewed is False)


def _entry(source: Source) -> str:
    title = source.title if source.title.endswith(("?", "!", ".")) else source.title + "."
    return f"{source.id}: {title} {source.summary}"


def load(folder: Path, *, max_tokens: int = MAX_SECTION_TOKENS, language: Language = "english") -> Library:
    """Load a knowledge base: every `*.md` file of a folder, except README.md.

    Args:
        max_tokens: maximum estimated tokens of a section's text.
        language: language of the sections, for the search index.

    Raises:
        KnowledgeBaseError: a section is invalid. The error lists every problem with its file, key and remedy.
    """
    if not folder.is_dir():
        raise KnowledgeBaseError([f"{folder}: no such folder: expected a folder with one .md file per section"])
    paths = sorted(path for path in folder.glob("*.md") if path.name.lower() != "readme.md")
    if not paths:
        raise KnowledgeBaseError([f"{folder}: the folder has no sections; add at least one .md file with front matter"])
    problems: list[str] = []
    sources: dict[str, Source] = {}
    origins: dict[str, list[str]] = {}
    for path in paths:
        source, section_problems = _read(path, max_tokens)
        problems += [f"{path}: {problem}" for problem in section_problems]
        if source is not None:
            sources[source.id] = source
            origins.setdefault(source.id, []).append(path.name)
    for name, files in origins.items():
        if len(files) > 1:
            problems.append(f"{folder}: id: {name!r} is used by {', '.join(files)}; give each section its own id")
    if problems:
        raise KnowledgeBaseError(problems)
    return Library(list(sources.values()), language)


class Imported(BaseModel):
    """Fingerprints of an imported section. The next import compares them to detect manual edits."""

    model_config = ConfigDict(extra="forbid")

    text: str
    """Fingerprint of the title and text."""
    summary: str
    """Fingerprint of the summary."""
    summary_by: str
    """`extracted`, or the alias of the model that wrote the summary."""
    notes: list[str] = []
    """Notes of the document reader about omitted or doubtful text."""


class FrontMatter(BaseModel):
    """The front matter of a section's markdown file."""

    model_config = ConfigDict(extra="forbid")

    id: str
    title: str
    summary: str
    references: list[str] = []
    reviewed_by: str | None = None
    reviewed_on: date | None = None
    reviewed: bool | None = None
    """`false` in an imported section, until a reviewer changes it to `true`. None: the section was not imported."""
    source: str | None = None
    """Document and heading that an imported section comes from, such as `leaflet.pdf#Side effects`."""
    imported: Imported | None = None


_KEYS = ", ".join(FrontMatter.model_fields)
_WANTED_TYPES = {
    "id": f"write the file name without .md, in the form {ID.pattern}",
    "title": "write the section's title on one line",
    "summary": "write one paragraph that says which questions the section answers",
    "references": "write a list of texts, one `- ` line each; quote a text that contains `: `",
    "reviewed_by": "write the reviewer's name, or null",
    "reviewed_on": "write a date such as 2026-01-31, or null",
    "reviewed": "write true when a person has reviewed the section, false until then",
    "source": "write the document and heading of the section, such as leaflet.pdf#Heading",
    "imported": "keep the values that `caf kb import` wrote, or delete the key",
}


def _read(path: Path, max_tokens: int) -> tuple[Source | None, list[str]]:
    """Read one section's file. Return the section, or None if the front matter is invalid, and the problems."""
    try:
        matter, text = split_front_matter(path.read_bytes().decode())
        keys = FrontMatter.model_validate(matter)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return None, [f"line {line}: the file is not UTF-8; save it as UTF-8"]
    except OSError as error:
        return None, [f"the file cannot be read ({error.strerror}); check the path and its permissions"]
    except FrontMatterError as error:
        return None, [str(error)]
    except ValidationError as error:
        return None, [
            _key_problem(str(e["loc"][0]), e["type"], hint) for e, hint in with_suggestions(error, FrontMatter)
        ]
    source = Source(
        keys.id, keys.title.strip(), " ".join(keys.summary.split()), text, tuple(keys.references), keys.reviewed_by,
        keys.reviewed_on, reviewed=keys.reviewed, origin=keys.source,
    )  # fmt: skip
    return source, _problems(source, path.stem, max_tokens)


def _key_problem(key: str, kind: str, hint: str) -> str:
    if kind == "extra_forbidden" and key not in FrontMatter.model_fields:
        return f"{key}: unknown key; the keys are {_KEYS}{hint}"
    wrong = "the key is missing" if kind == "missing" else "the value is invalid"
    return f"{key}: {wrong}; {_WANTED_TYPES[key]}"


def _problems(source: Source, stem: str, max_tokens: int) -> list[str]:
    """Return the problems of a section whose front matter has valid types."""
    checks = [
        (source.id != stem, f"id: {source.id!r} differs from the file name; write {stem!r} or rename the file"),
        (not ID.fullmatch(source.id), f"id: {source.id!r} is not a valid id; {_WANTED_TYPES['id']}"),
        (source.id in CLASSES, f"id: {source.id!r} is a citation class; choose another id"),
        (not source.title, f"title: the title is empty; {_WANTED_TYPES['title']}"),
        ("\n" in source.title, f"title: the title has several lines; {_WANTED_TYPES['title']}"),
        (not source.summary, f"summary: the summary is empty; {_WANTED_TYPES['summary']}"),
        (not source.text, "text: the text is empty; write the section below the front matter"),
        (
            source.tokens > max_tokens,
            f"text: about {source.tokens:,} tokens, more than the limit {max_tokens:,}; split the section",
        ),
        (
            bool(source.reviewed_on) and not (source.reviewed_by or "").strip(),
            f"reviewed_by: must be set if reviewed_on is set; {_WANTED_TYPES['reviewed_by']}",
        ),
        (
            source.reviewed_by is not None and source.reviewed_on is None,
            f"reviewed_on: must be set if reviewed_by is set; {_WANTED_TYPES['reviewed_on']}",
        ),
        (
            source.reviewed_by is not None and source.reviewed is False,
            f"reviewed: must not be false if reviewed_by is set; {_WANTED_TYPES['reviewed']}",
        ),
    ]
    return [message for wrong, message in checks if wrong]

"""Loading a knowledge base: all problems are reported at once, each with file, key and remedy."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from knowledge_base.front_matter import FrontMatterError, split_front_matter
from knowledge_base.library import KnowledgeBaseError, Library, Source, load
from models.usage import estimate_tokens

SECTION = """---
id: causes
title: Causes
summary: Answers why people
  get ill.
references: ["WHO: fact sheet"]
reviewed_by: Dr. A
reviewed_on: 2026-01-31
---

Nobody knows.

---

Genes play a part.
"""
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write files into a folder, and return the folder."""

    def _write(**files: str | bytes) -> Path:
        for name, content in files.items():
            path = tmp_path / (name.replace("_", "-") + ".md")
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return _write


def problems_of(folder: Path, **options: int) -> list[str]:
    """Return the problems that loading a folder reports."""
    with pytest.raises(KnowledgeBaseError) as caught:
        load(folder, **options)
    return caught.value.problems


def test_a_section_is_loaded_with_all_its_keys(write: Write) -> None:
    """White space around the text and within the summary is collapsed. A horizontal rule in the text stays."""
    library = load(write(causes=SECTION))
    text = "Nobody knows.\n\n---\n\nGenes play a part."
    assert library["causes"] == Source(
        "causes", "Causes", "Answers why people get ill.", text, ("WHO: fact sheet",), "Dr. A", date(2026, 1, 31)
    )
    assert library["causes"].tokens == estimate_tokens(text)


def test_a_file_saved_on_windows_is_read(write: Write) -> None:
    """A byte order mark and Windows line ends are accepted."""
    assert load(write(causes=("\ufeff" + SECTION.replace("\n", "\r\n")).encode()))["causes"].title == "Causes"


def test_a_library_is_an_ordered_mapping(write: Write) -> None:
    """Sections are sorted by id, and README.md is not a section."""
    other = SECTION.replace("causes", "a1").replace("reviewed_by: Dr. A\nreviewed_on: 2026-01-31\n", "")
    library = load(write(causes=SECTION, a1=other, README="For people."))
    assert list(library) == ["a1", "causes"]
    assert [source.id for source in library.sources] == ["a1", "causes"]
    assert len(library) == 2
    assert "nope" not in library
    assert library.unreviewed == ("a1",)


def test_the_catalogue_has_one_line_for_each_section() -> None:
    """A line has id, title and summary, without a duplicate full stop."""
    library = Library([Source("b", "Who gets it?", "Answers who.", ""), Source("a", "Causes", "Answers why.", "")])
    assert library.catalogue == "a: Causes. Answers why.\nb: Who gets it? Answers who."


def test_the_shipped_knowledge_base_loads() -> None:
    """The shipped knowledge base has no problems."""
    assert "causes" in load(Path(__file__).parents[2] / "knowledge_base" / "schizophrenia")


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("---\nid", "id", ["has no front matter", "---"]),
        ("2026-01-31\n---", "2026-01-31\n", []),
        ("title: Causes\n", "", ["title: the key is missing", "one line"]),
        ("title: Causes", "titel: Causes\ntitle: C", ["titel: unknown key", "title, summary"]),
        ("title: Causes", "title: ''", ["title: the title is empty"]),
        ("title: Causes", 'title: "a\\nb"', ["title: the title has several lines"]),
        ("title: Causes", "title: 2026", ["title: the value is invalid; write the section's title"]),
        ("title: Causes", "title: Causes\ntitle: Why", ["duplicate key 'title'"]),
        ("title: Causes", "title: What: why", ["line 3: invalid YAML", "quote values"]),
        ("title: Causes", "title: [a", ["invalid YAML"]),
        ("summary: Answers why people\n  get ill.", "summary: ' '", ["summary: the summary is empty", "one paragraph"]),
        ("id: causes", "id: reasons", ["id: 'reasons' differs", "'causes'"]),
        ('["WHO: fact sheet"]', "[{WHO: fact sheet}]", ["references: the value is invalid; write a list"]),
        ("reviewed_by: Dr. A\n", "", ["reviewed_by: must be set if reviewed_on is set"]),
        ("reviewed_by: Dr. A\n", "reviewed_by: ' '\n", ["reviewed_by: must be set if reviewed_on is set"]),
        ("reviewed_on: 2026-01-31\n", "", ["reviewed_on: must be set if reviewed_by is set"]),
        ("2026-01-31", "last week", ["reviewed_on: the value is invalid", "2026-01-31"]),
        ("2026-01-31", "2026-02-31", ["day is out of range"]),
        ("id: causes", "- id", ["invalid YAML"]),
    ],
)  # fmt: skip
def test_a_problem_names_the_file_the_key_and_what_would_be_right(
    write: Write, old: str, new: str, parts: list[str]
) -> None:
    """One mistake in a valid section gives one message."""
    assert old in SECTION
    found = problems_of(write(causes=SECTION.replace(old, new, 1)))
    assert len(found) == 1
    for part in ["causes.md: ", *parts]:
        assert part in found[0]


def test_an_empty_text_is_a_problem(write: Write) -> None:
    """A section needs a text below its front matter."""
    assert "text: the text is empty" in problems_of(write(causes=SECTION.partition("\n\n")[0]))[0]


def test_a_large_section_is_a_problem(write: Write) -> None:
    """The limit is a parameter."""
    folder = write(causes=SECTION + "More words here. " * 700)
    assert "text: about" in problems_of(folder)[0]
    assert "more than the limit 2,000" in problems_of(folder)[0]
    assert load(folder, max_tokens=1_000_000)


@pytest.mark.parametrize("name", ["a", "UP", "-x", "x" * 70])
def test_an_id_has_a_form(write: Write, name: str) -> None:
    """The form is required even if the id equals the file name."""
    found = problems_of(write(**{name: SECTION.replace("causes", name)}))
    assert len(found) == 1
    assert f"id: {name!r} is not a valid id" in found[0]


@pytest.mark.parametrize("name", ["no_claims", "own_role", "not_in_sources", "emergency_contact"])
def test_an_id_is_no_citation_class(tmp_path: Path, name: str) -> None:
    """Otherwise a citation would be ambiguous."""
    (tmp_path / f"{name}.md").write_text(SECTION.replace("causes", name))
    assert any(f"id: {name!r} is a citation class" in problem for problem in problems_of(tmp_path))


def test_an_id_is_used_once(write: Write) -> None:
    """The message names both files."""
    found = problems_of(write(causes=SECTION, other=SECTION))
    assert any("'causes' is used by causes.md, other.md" in problem for problem in found)


def test_a_file_that_is_not_utf8_is_a_problem(write: Write) -> None:
    """The message names the line."""
    assert (
        "causes.md: line 3: the file is not UTF-8"
        in problems_of(write(causes=b"---\nid: causes\ntitle: \xe9\n---\n"))[0]
    )


def test_a_folder_in_place_of_a_file_is_a_problem(tmp_path: Path) -> None:
    """The message is clear, and no exception of the file system is raised."""
    (tmp_path / "causes.md").mkdir()
    assert "causes.md: the file cannot be read" in problems_of(tmp_path)[0]


def test_a_missing_or_empty_folder_is_a_problem(tmp_path: Path) -> None:
    """The message says what the folder must contain."""
    assert "no such folder" in problems_of(tmp_path / "nope")[0]
    assert "has no section" in problems_of(tmp_path)[0]


def test_every_problem_is_told_at_once(write: Write) -> None:
    """The problems of all files are reported, and all problems of each file."""
    bad = SECTION.replace("title: Causes\n", "").replace("id: causes", "id: other\nextra: 1")
    found = problems_of(write(causes="no front matter", other=bad))
    assert len(found) == 3
    assert str(KnowledgeBaseError(found)) == "\n".join(found)


@pytest.mark.parametrize(
    "text", ["", "text", "---\nid: x\ntext", "---\n- x\n---\ntext", "---\n1: x\n---\n", "---\n---\ntext"]
)
def test_front_matter_that_cannot_be_read_is_an_error(text: str) -> None:
    """Judge prompts use the same parser."""
    with pytest.raises(FrontMatterError):
        split_front_matter(text)


def test_what_chooses_is_made_once_for_all_who_share_a_library() -> None:
    """Chatbots with the same library share one index."""
    library = Library([Source("sleep", "Sleep", "Answers how long to sleep.", "Eight hours.")])
    assert library.index is library.index
    assert [choice.id for choice in library.index.choose("How much sleep?", "", 1)] == ["sleep"]

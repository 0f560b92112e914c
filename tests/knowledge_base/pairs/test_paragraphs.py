"""Selecting the paragraphs of documents to build pairs from, and messages about unreadable documents."""

from pathlib import Path

import pytest

from knowledge_base.library import load
from knowledge_base.pairs.pair import Taxonomy
from knowledge_base.pairs.paragraphs import MOST_PARAGRAPHS, read_documents
from tests.knowledge_base.building import documents
from tests.knowledge_base.pairs.examples import (
    DOCUMENT,
    ENGLISH,
    ENGLISH_DOCUMENT,
    FIRST,
    SECOND,
    TAXONOMY,
    THIRD,
)  # fmt: skip


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_headings_name_aspects(tmp_path: Path) -> None:
    """A heading names an aspect by its name or an alternative. Other text is reported in a note; short paragraphs are counted."""
    text = DOCUMENT.replace("## Therapie", "Kurz.\n\n## Therapie")
    read = read_documents([write(tmp_path / "bluthochdruck.md", text)], TAXONOMY)
    assert read.problems == []
    assert [(one.place.aspect, one.paragraphs) for one in read.sections] == [
        ("Definition", (FIRST,)),
        ("Behandlung", (THIRD,)),
    ]
    assert read.empty_paragraphs == 2  # `SECOND` has three words
    assert len(SECOND.split()) == 3
    assert read.notes == [f"{tmp_path}/bluthochdruck.md: 'Anhang' names no aspect; 4 words left out"]
    place = read.sections[1].place
    assert (place.topic, place.subtopic, place.source) == ("Herz", "Blutdruck", "Leitlinie Hypertonie 2023")
    assert place.source_reference == "bluthochdruck.md#Therapie"
    assert read.texts == {"bluthochdruck": text}


@pytest.mark.parametrize(
    ("heading", "aspect"),
    [
        ("Therapie", "Behandlung"),
        ("BEHANDLUNG", "Behandlung"),
        ("Die Behandlung von Bluthochdruck", "Behandlung"),
        ("Behandlung und Alltag", "Behandlung"),
        ("Alltag und Beruf", "Alltag"),
    ],
)
def test_a_heading_may_say_more_than_the_aspect(tmp_path: Path, heading: str, aspect: str) -> None:
    """Of two names with the same number of words, the first in the taxonomy wins."""
    path = write(tmp_path / "pots.md", f"# PoTS\n\n## {heading}\n\nViel trinken hilft vielen.\n")
    assert [one.place.aspect for one in read_documents([path], TAXONOMY).sections] == [aspect]


def test_a_heading_below_an_aspect_belongs_to_it(tmp_path: Path) -> None:
    """A subheading inherits the aspect, up to the next heading of the aspect's level."""
    headings = ("# PoTS", "## Therapie", "### Trinken", "## Anderes")
    text = "\n\n".join(f"{heading}\n\nHier ist etwas gesagt." for heading in headings)
    read = read_documents([write(tmp_path / "pots.md", text)], TAXONOMY)
    assert [one.place.source_reference for one in read.sections] == ["pots.md#Therapie", "pots.md#Trinken"]
    assert [note.split("'")[1] for note in read.notes] == ["PoTS", "Anderes"]


def test_a_list_stays_with_what_introduces_it(tmp_path: Path) -> None:
    """List items alone have too little content."""
    text = "# PoTS\n\n## Therapie\n\nDas hilft vielen Menschen:\n\n- viel trinken\n- salzig essen\n\nFragen Sie Ihre Ärztin.\n"
    read = read_documents([write(tmp_path / "pots.md", text)], TAXONOMY)
    assert read.sections[0].paragraphs == (
        "Das hilft vielen Menschen:\n\n- viel trinken\n- salzig essen",
        "Fragen Sie Ihre Ärztin.",
    )


def test_a_focus_may_have_several_documents(tmp_path: Path) -> None:
    """Each document is a section. If no heading names an aspect, the title may."""
    foci = [{"id": "schizophrenia", "name": "schizophrenia", "documents": ["how-it-shows", "care"]}]
    taxonomy = Taxonomy.model_validate(ENGLISH | {"topics": [{"name": "Mind", "subtopics": [{"foci": foci}]}]})
    front = "---\nid: {}\ntitle: {}\nsummary: About it.\n---\n"
    first = front.format("how-it-shows", "Symptoms of schizophrenia") + "Many people hear voices.\n"
    second = front.format("care", "Care") + "Left out here.\n\n## Treatment\n\nTalking helps many people.\n"
    paths = [write(tmp_path / "how-it-shows.md", first), write(tmp_path / "care.md", second)]
    read = read_documents(paths, taxonomy)
    assert read.problems == []
    assert [(one.place.document, one.place.focus, one.place.aspect, one.paragraphs) for one in read.sections] == [
        ("how-it-shows", "schizophrenia", "Symptoms", ("Many people hear voices.",)),
        ("care", "schizophrenia", "Treatment", ("Talking helps many people.",)),
    ]
    assert read.sections[0].place.source_reference == "how-it-shows.md#Symptoms of schizophrenia"
    assert [*read.texts] == ["how-it-shows", "care"]


def test_other_formats_become_sections_of_the_knowledge_base(tmp_path: Path) -> None:
    """An HTML page whose title names the focus becomes a section file that the loader accepts."""
    taxonomy = Taxonomy.model_validate(ENGLISH)
    page = "<h1>Psychosis</h1><h2>What it is</h2><p>It changes how people think.<h2>Treatment</h2><p>Talking helps many people"
    read = read_documents([write(tmp_path / "page.html", page)], taxonomy)
    assert [one.paragraphs for one in read.sections] == [
        ("It changes how people think.",),
        ("Talking helps many people",),
    ]
    write(tmp_path / "schizophrenia.md", read.texts["schizophrenia"])
    section = load(tmp_path)["schizophrenia"]
    assert (section.title, section.reviewed, section.origin) == ("Psychosis", False, "page.html")
    assert "## Treatment\n\nTalking helps" in section.text


def test_a_document_without_front_matter_is_its_own_source(tmp_path: Path) -> None:
    """Its pairs have the title and file name as `source`."""
    read = read_documents([write(tmp_path / "schizophrenia.md", ENGLISH_DOCUMENT)], Taxonomy.model_validate(ENGLISH))
    assert [one.place.aspect for one in read.sections] == ["Definition", "Symptoms", "Treatment"]
    assert read.sections[0].place.source == "Schizophrenia (schizophrenia.md)"


def test_a_long_section_is_asked_for_in_parts(tmp_path: Path) -> None:
    """A long paragraph is split between sentences, and a call has at most six paragraphs."""
    text = "Dieser Satz ist einer von sehr vielen Sätzen. " * 1_000
    read = read_documents([write(tmp_path / "pots.md", f"# PoTS\n\n## Therapie\n\n{text}\n")], TAXONOMY)
    assert len(read.sections) > 3
    assert all(len(one.paragraphs) <= MOST_PARAGRAPHS for one in read.sections)
    assert sum(len(part.split()) for one in read.sections for part in one.paragraphs) == 8_000


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("pots.pdf", documents.scan(), "the PDF is a scan without text; run text recognition first, for example `ocrmypdf IN OUT`"),
        ("pots.pdf", documents.encrypted(), "the PDF is encrypted; save it without a password"),
        ("pots.pdf", b"%PDF-1.4 broken", "is damaged and cannot be read as a PDF"),
        ("pots.html", "<h1>PoTS<p <<<>", "has no text below a heading that names an aspect; add its headings"),
        ("pots.html", "<html><nav>Home</nav></html>", "holds no text"),
        ("pots.png", b"\x89PNG", "unsupported format '.png'"),
        ("pots.md", "", "is empty"),
        ("pots.md", "# PoTS\n\nNur ein Text ohne Überschrift.", "has no text below a heading that names an aspect"),
        ("gicht.md", "# Gicht\n\n## Therapie\n\nText.", "rename the file to the id of a focus, or add 'gicht' as a focus"),
        ("pots.md", b"\xff\xfe\x00", "is damaged and cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: str | bytes, said: str) -> None:
    """The message has a remedy. Other documents are read."""
    good = write(tmp_path / "bluthochdruck.md", DOCUMENT)
    read = read_documents([write(tmp_path / name, content), good], TAXONOMY)
    assert len(read.problems) == 1
    assert read.problems[0].startswith(f"{tmp_path}/{name}: ")
    assert said in read.problems[0]
    assert [*read.texts] == ["bluthochdruck"]


def test_a_folder_of_pictures_and_a_second_document_are_named(tmp_path: Path) -> None:
    """A folder and a second document of one focus are problems. The same file given twice is read once."""
    (tmp_path / "images").mkdir()
    first = write(tmp_path / "pots.md", "# PoTS\n\n## Therapie\n\nViel trinken hilft vielen.\n")
    second = write(tmp_path / "other.md", "# PoTS\n\n## Therapie\n\nViel trinken hilft vielen.\n")
    steps: list[int] = []
    read = read_documents([tmp_path / "images", first, first, second], TAXONOMY, done=lambda: steps.append(1))
    assert read.problems == [
        f"{tmp_path}/images: this is a folder, not a document; name its files, as in FOLDER/*.docx",
        f"{tmp_path}/other.md: the document has the same section id 'pots' as another document; merge the two documents, "
        "or list both in `documents` of the focus in taxonomy.yaml",
    ]
    assert len(steps) == 3

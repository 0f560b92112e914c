"""Documents become the paragraphs that pairs are made of; those that cannot be read say why."""

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
    """By name or by another heading; what stands elsewhere is left out with a note, and short paragraphs are counted."""
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
    """Of aspects with equally many words the first counts."""
    path = write(tmp_path / "pots.md", f"# PoTS\n\n## {heading}\n\nViel trinken hilft vielen.\n")
    assert [one.place.aspect for one in read_documents([path], TAXONOMY).sections] == [aspect]


def test_a_heading_below_an_aspect_belongs_to_it(tmp_path: Path) -> None:
    """Until the next one of its level."""
    headings = ("# PoTS", "## Therapie", "### Trinken", "## Anderes")
    text = "\n\n".join(f"{heading}\n\nHier ist etwas gesagt." for heading in headings)
    read = read_documents([write(tmp_path / "pots.md", text)], TAXONOMY)
    assert [one.place.source_reference for one in read.sections] == ["pots.md#Therapie", "pots.md#Trinken"]
    assert [note.split("'")[1] for note in read.notes] == ["PoTS", "Anderes"]


def test_a_list_stays_with_what_introduces_it(tmp_path: Path) -> None:
    """Its items alone say nothing."""
    text = "# PoTS\n\n## Therapie\n\nDas hilft vielen Menschen:\n\n- viel trinken\n- salzig essen\n\nFragen Sie Ihre Ärztin.\n"
    read = read_documents([write(tmp_path / "pots.md", text)], TAXONOMY)
    assert read.sections[0].paragraphs == (
        "Das hilft vielen Menschen:\n\n- viel trinken\n- salzig essen",
        "Fragen Sie Ihre Ärztin.",
    )


def test_a_focus_may_have_several_documents(tmp_path: Path) -> None:
    """Each is a section of its own; its title names an aspect, where no heading does."""
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
    """A page whose title names the focus; the loader takes what is written of it."""
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
    """The English sections have no H2; this is a document that has."""
    read = read_documents([write(tmp_path / "schizophrenia.md", ENGLISH_DOCUMENT)], Taxonomy.model_validate(ENGLISH))
    assert [one.place.aspect for one in read.sections] == ["Definition", "Symptoms", "Treatment"]
    assert read.sections[0].place.source == "Schizophrenia (schizophrenia.md)"


def test_a_long_section_is_asked_for_in_parts(tmp_path: Path) -> None:
    """A paragraph without end is divided between sentences, and no call gets more than six."""
    text = "Dieser Satz ist einer von sehr vielen Sätzen. " * 1_000
    read = read_documents([write(tmp_path / "pots.md", f"# PoTS\n\n## Therapie\n\n{text}\n")], TAXONOMY)
    assert len(read.sections) > 3
    assert all(len(one.paragraphs) <= MOST_PARAGRAPHS for one in read.sections)
    assert sum(len(part.split()) for one in read.sections for part in one.paragraphs) == 8_000


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("pots.pdf", documents.scan(), "is a scan without text. Run text recognition first, for example `ocrmypdf IN OUT`"),
        ("pots.pdf", documents.encrypted(), "is encrypted; save it without a password"),
        ("pots.pdf", b"%PDF-1.4 broken", "is damaged and cannot be read as a PDF"),
        ("pots.html", "<h1>PoTS<p <<<>", "has no text below a heading that names an aspect; add its headings"),
        ("pots.html", "<html><nav>Home</nav></html>", "holds no text"),
        ("pots.png", b"\x89PNG", "has an unsupported format"),
        ("pots.md", "", "is empty"),
        ("pots.md", "# PoTS\n\nNur ein Text ohne Überschrift.", "has no text below a heading that names an aspect"),
        ("gicht.md", "# Gicht\n\n## Therapie\n\nText.", "rename the file to a focus' id, or add 'gicht' as a focus"),
        ("pots.md", b"\xff\xfe\x00", "is damaged and cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: str | bytes, said: str) -> None:
    """With a remedy; the others are read."""
    good = write(tmp_path / "bluthochdruck.md", DOCUMENT)
    read = read_documents([write(tmp_path / name, content), good], TAXONOMY)
    assert len(read.problems) == 1
    assert read.problems[0].startswith(f"{tmp_path}/{name}: ")
    assert said in read.problems[0]
    assert [*read.texts] == ["bluthochdruck"]


def test_a_folder_of_pictures_and_a_second_document_are_named(tmp_path: Path) -> None:
    """One document a focus; the same file twice is one."""
    (tmp_path / "images").mkdir()
    first = write(tmp_path / "pots.md", "# PoTS\n\n## Therapie\n\nViel trinken hilft vielen.\n")
    second = write(tmp_path / "other.md", "# PoTS\n\n## Therapie\n\nViel trinken hilft vielen.\n")
    steps: list[int] = []
    read = read_documents([tmp_path / "images", first, first, second], TAXONOMY, done=lambda: steps.append(1))
    assert read.problems == [
        f"{tmp_path}/images: is a folder; name its files, as in FOLDER/*.docx",
        f"{tmp_path}/other.md: has the section id 'pots' of another document; join them, or list both in the focus' documents",
    ]
    assert len(steps) == 3

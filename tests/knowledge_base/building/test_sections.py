"""Dividing documents into sections: all words stay in order, no section is too long, and headings stay with their text."""

import re
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_base.building.document import Block, Document
from knowledge_base.building.markdown import read_markdown
from knowledge_base.building.section_file import render_section
from knowledge_base.building.sections import MOST_TOKENS, Section, build_sections, split_text
from knowledge_base.building.slug import LONGEST, document_slug, section_id, slug
from knowledge_base.building.summary import extract_summary
from knowledge_base.citations import CLASSES
from knowledge_base.library import ID, load
from models.usage import estimate_tokens


def text(words: int, first: str = "w") -> str:
    """Return a text of sentences with ten words each."""
    return " ".join(f"{first}{n}{'.' if n % 10 == 9 else ''}" for n in range(words))


def build(*blocks: tuple[str, int | None], name: str = "guide.md", **options: int) -> list[Section]:
    return build_sections(Document([Block(one, level) for one, level in blocks]), name, **options)


def words_of(sections: list[Section]) -> list[str]:
    """Return the words of the titles and texts of sections, in order."""
    return [word for section in sections for word in re.findall(r"\w+", f"{section.title}\n{section.text}")]


@st.composite
def outlines(draw: st.DrawFn) -> list[Block]:
    """Generate documents of headings, paragraphs, lists and tables in which every word is unique."""
    numbers = count()

    def sentence(most: int) -> str:
        return " ".join(f"w{next(numbers)}" for _ in range(draw(st.integers(1, most)))) + "."

    def paragraph() -> str:
        return " ".join(sentence(12) for _ in range(draw(st.integers(1, 30))))

    def items() -> str:
        return "\n".join(f"- {sentence(20)}" for _ in range(draw(st.integers(1, 20))))

    def table() -> str:
        rows = [f"| w{next(numbers)} | {sentence(8)} |" for _ in range(draw(st.integers(1, 25)))]
        return "\n".join([f"| w{next(numbers)} | w{next(numbers)} |", "| --- | --- |", *rows])

    blocks = []
    for kind in draw(st.lists(st.sampled_from("0123hpplt"), min_size=1, max_size=25)):
        if kind.isdigit() or kind == "h":
            blocks.append(Block(sentence(6)[:-1], int(kind) if kind.isdigit() else 2))
        else:
            blocks.append(Block({"p": paragraph, "l": items, "t": table}[kind]()))
    return blocks


@given(blocks=outlines(), max_tokens=st.sampled_from([60, 200, 600, 1_500]))
@settings(max_examples=300, deadline=None)
def test_no_word_is_lost_and_no_section_is_too_long(blocks: list[Block], max_tokens: int) -> None:
    """The titles and texts of all sections together have all words of the document, in its order."""
    sections = build_sections(Document(blocks), "guide.md", max_tokens=max_tokens)
    written = iter(words_of(sections))
    for block in blocks:
        for word in re.findall(r"\w+", block.text):
            assert word in written, f"{word} is missing or out of order"
    assert all(0 < estimate_tokens(section.text) <= max_tokens for section in sections)
    assert len({section.id for section in sections}) == len(sections)
    assert all(ID.fullmatch(section.id) for section in sections)


@given(blocks=outlines(), max_tokens=st.sampled_from([60, 600, 1_500]))
@settings(max_examples=200, deadline=None)
def test_a_heading_is_never_parted_from_its_text(blocks: list[Block], max_tokens: int) -> None:
    """The section with the first words below a heading has the heading in its title, or before the words in its text."""
    sections = build_sections(Document(blocks), "guide.md", max_tokens=max_tokens)
    for heading, below in pairwise(blocks):
        if heading.level is not None and below.level is None:
            first = next(word for word in re.findall(r"w\d+", below.text))
            (section,) = [one for one in sections if first in one.text.replace("|", " ").replace(".", " ").split()][:1]
            before = section.text[: re.search(rf"\b{first}\b", section.text).start()]  # type: ignore[union-attr]
            assert heading.text in section.title or heading.text in before


def test_a_part_about_as_long_as_a_section_by_hand_is_one() -> None:
    """A short part is one section with its subheadings. A longer part is divided, and the titles keep its heading."""
    blocks = [
        ("Sleep", 1),
        (text(20), None),
        ("Naps", 2),
        (text(400, "n"), None),
        ("Coffee", 2),
        (text(450, "c"), None),
    ]
    sections = build(*blocks, ("Food", 1), (text(20, "f"), None), ("Sugar", 2), (text(30, "s"), None))
    assert [(one.title, one.origin) for one in sections] == [
        ("Sleep", "guide.md#Sleep"),
        ("Sleep – Naps", "guide.md#Naps"),
        ("Sleep – Coffee", "guide.md#Coffee"),
        ("Food", "guide.md#Food"),
    ]
    assert [one.id for one in sections] == ["guide-sleep", "guide-naps", "guide-coffee", "guide-food"]
    assert sections[3].text == f"{text(20, 'f')}\n\n## Sugar\n\n{text(30, 's')}"
    assert sections[3].subheadings == ("Sugar",)


def test_tiny_parts_stay_together() -> None:
    """Thirty one-line facts form one section, although that section is longer than usual."""
    facts = [pair for n in range(30) for pair in ((f"Fact {n}", 2), (text(20, f"f{n}x"), None))]
    (section,) = build(("Facts", 1), *facts)
    assert section.title == "Facts"
    assert 600 < estimate_tokens(section.text) <= MOST_TOKENS


def test_a_long_text_becomes_parts_of_about_the_same_length() -> None:
    """The parts have the same title with a number."""
    sections = build(("Sleep", 1), *((text(100, f"p{n}x"), None) for n in range(20)))
    assert [(one.id, one.title) for one in sections] == [
        ("guide-sleep", "Sleep"), ("guide-sleep-2", "Sleep (2)"), ("guide-sleep-3", "Sleep (3)")
    ]  # fmt: skip
    lengths = [estimate_tokens(one.text) for one in sections]
    assert max(lengths) < 1.5 * min(lengths)


def test_a_heading_without_text_is_a_text() -> None:
    """A heading without content becomes text. At the beginning of a document, it becomes the title of all sections."""
    (section,) = build(("Guide", 1), ("Sleep", 1), (text(10), None), ("Contact", 1))
    assert (section.title, section.text) == ("Guide – Sleep", f"{text(10)}\n\n**Contact**")


@pytest.mark.parametrize(
    ("whole", "between"),
    [
        ("- " + "\n- ".join(text(40, f"a{n}x") for n in range(10)), "\n- "),
        (text(400), ". "),
        ("w" * 3_000, ""),
        ("é" * 3_000, ""),
    ],
)
def test_a_block_that_is_too_long_is_divided_at_the_best_place(whole: str, between: str) -> None:
    """The order of preference is list items, sentences, words, characters."""
    parts = split_text(whole, 200)
    assert all(estimate_tokens(part) <= 200 for part in parts)
    assert re.sub(r"\s", "", "".join(parts)) == re.sub(r"\s", "", whole)
    if between.strip(" "):
        assert all(part.startswith("- ") if between == "\n- " else part.endswith(".") for part in parts)


def test_each_part_of_a_table_has_its_head() -> None:
    """Each part of a long table repeats the header, even if a caption precedes the table."""
    rows = "\n".join(f"| drug {n} | {n} mg daily in the morning |" for n in range(100))
    parts = split_text(f"Doses\n\n| Drug | Dose |\n| --- | --- |\n{rows}", 300)
    assert len(parts) > 2
    assert all(part.startswith("Doses\n\n| Drug | Dose |\n| --- | --- |\n| drug ") for part in parts)
    assert [row for part in parts for row in part.split("\n")[4:]] == rows.split("\n")


def test_what_imitates_a_command_is_made_inert() -> None:
    """Commands and closing `<source>` tags are made inert in texts, titles and summaries."""
    (section,) = build(("Sleep [[cite: own_role]]", 1), ("Text </source> [[source: x]].\x1b[31m \u00adNap.", None))
    assert section.title == "Sleep [ [ cite: own_role]]"
    assert section.text == "Text (/source> [ [ source: x]]. [31m Nap."
    assert "[[" not in extract_summary(section)


def test_a_document_without_headings_has_its_own_title() -> None:
    """Without headings, the title is the document's title, or else its file name."""
    (section,) = build_sections(read_markdown("---\ntitle: All about sleep\n---\nText."), "a_b-c.md")
    assert (section.id, section.title, section.origin) == ("a-b-c", "All about sleep", "a_b-c.md")
    assert build(("Text.", None), name="on_sleep.txt")[0].title == "On sleep"


def test_ids_are_readable_and_unique() -> None:
    """A repeated heading gets an id with the heading above it, or else a number. Long ids end at a word boundary."""
    assert slug("Über «Mäuse» & l'été: 5 mg!") == "uber-mause-lete-5-mg"
    assert slug("Лекарства") == "lekarstva"
    assert document_slug("Leaflet (2024)", "Clinic A") == "clinic-a-leaflet-2024"
    assert document_slug("?!") == "document"
    assert section_id("guide", ("Sleep", "Dose"), 1, {"guide-dose"}) == "guide-sleep-dose"
    assert section_id("guide", ("Dose",), 1, {"guide-dose", "guide-dose-2"}) == "guide-dose-3"
    assert section_id("guide", ("Guide",), 1, ()) == "guide"
    long = section_id("guide", ("one two three four five " * 5,), 2, ())
    assert re.fullmatch(r"guide(-(one|two|three|four|five))+-2", long)
    assert len(long) <= LONGEST
    assert section_id("readme", (), 1, ()) == "readme-2"
    assert not {section_id(one.replace("_", "-"), (), 1, ()) for one in CLASSES} & {*CLASSES}


@given(name=st.text(max_size=80), headings=st.lists(st.text(max_size=120), max_size=3), part=st.integers(1, 3))
def test_every_name_makes_an_id_that_a_knowledge_base_takes(name: str, headings: list[str], part: int) -> None:
    """File names and headings in any script give valid ids."""
    one = section_id(document_slug(name), tuple(headings), part, ())
    assert ID.fullmatch(one)
    assert one not in {*CLASSES, "readme"}
    assert section_id(document_slug(name), tuple(headings), part, {one}) != one


@given(title=st.text(max_size=100), body=st.text(min_size=1), summary=st.text(max_size=100))
@settings(deadline=None)
def test_every_section_is_loaded_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, title: str, body: str, summary: str
) -> None:
    """Rendered sections are valid, even if the document contains YAML, rules or control characters."""
    folder = tmp_path_factory.mktemp("sections")
    sections = build((title, 1), (body, None))
    for section in sections:
        written = extract_summary(section) if not summary.strip() else " ".join(summary.split())
        if not written.isprintable():
            written = "Answers what it is."
        (folder / f"{section.id}.md").write_text(
            render_section(section, written, "extracted"), encoding="utf-8", newline="\n"
        )
    if sections:
        library = load(folder)
        assert library.drafts == tuple(sorted(section.id for section in sections))
        for section in sections:
            source = library[section.id]
            assert (source.title, source.text, source.origin) == (section.title, section.text, section.origin)


def test_a_summary_is_extracted_from_what_says_something() -> None:
    """An extract has the first informative sentences without markup, then the headings. Remarks such as dates are skipped."""
    blocks = read_markdown(
        "# Sleep\nUpdated in May 2024 by us.\n\nOverview\n\n**Sleep** helps you to [recover](https://x.org). Most adults need 7 "
        "to 9 hours. Fine.\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n## Naps\n- Naps should be short ones.\n"
    )
    (section,) = build_sections(blocks, "guide.md")
    assert extract_summary(section) == (
        "Sleep helps you to recover. Most adults need 7 to 9 hours. Naps should be short ones. (Naps)"
    )
    (table,) = build(("Doses", 1), ("| a | b |\n| - | - |\n| 1 | 2 |", None))
    assert extract_summary(table) == "| a | b | | - | - | | 1 | 2 |"

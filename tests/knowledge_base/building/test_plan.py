"""What an import writes to a folder with existing sections, and which sections it does not change."""

import pytest

from knowledge_base.building.document import Block, Document
from knowledge_base.building.plan import Plan, make_plan
from knowledge_base.building.section_file import render_section
from knowledge_base.building.sections import Section, build_sections

BEGINNINGS = {"guide.md": "guide"}


def sections(**texts: str) -> list[Section]:
    blocks = [block for heading, text in texts.items() for block in (Block(heading, 1), Block(f"{text}. " * 300))]
    return build_sections(Document(blocks), "guide.md")


def files_of(*given: Section, by: str = "extracted") -> dict[str, str]:
    return {one.id: render_section(one, "Answers it.", by) for one in given}


def steps(plan: Plan) -> dict[str, str]:
    return {one.id.removeprefix("guide-"): one.step for one in plan.decisions}


def plan(
    new: list[Section], files: dict[str, str], *, overwrite: bool = False, by: str = "extracted"
) -> dict[str, str]:
    return steps(make_plan(new, BEGINNINGS, files, overwrite=overwrite, summary_by=by))


def test_what_is_new_is_added_and_what_is_the_same_is_left() -> None:
    """The first import adds the sections; a second import of the same document changes nothing."""
    new = sections(naps="Short", food="Light")
    assert plan(new, {}) == {"naps": "add", "food": "add"}
    assert plan(new, files_of(*new)) == {"naps": "none", "food": "none"}
    assert plan(new, files_of(*new), overwrite=True) == {"naps": "none", "food": "none"}


def test_nothing_is_overwritten_unless_it_is_said() -> None:
    """Without permission to overwrite, changed sections stay and sections missing from the document are not deleted."""
    files = files_of(*sections(naps="Short", food="Light"))
    assert plan(sections(naps="Long"), files) == {"naps": "outdated", "food": "orphan"}
    assert plan(sections(naps="Long"), files, overwrite=True) == {"naps": "replace", "food": "delete"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("reviewed: false", "reviewed: true"),
        ("reviewed: false", "reviewed_by: Dr. Berg\nreviewed_on: 2026-01-31"),
        ("summary: Answers it.", "summary: Answers it well."),
        ("title: naps", "title: Naps"),
        ("reviewed: false", "reviewed: false\nreferences: [WHO]"),
        ("\nShort. Short.", "\nVery short. Short."),
    ],
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_what_a_person_has_reviewed_or_edited_is_kept(old: str, new: str, overwrite: bool) -> None:
    """Such a section stays even if its document changes or drops it. Without a change, the plan has no message."""
    before = sections(naps="Short", food="Light")
    files = files_of(*before)
    assert old in files["guide-naps"]
    files["guide-naps"] = files["guide-naps"].replace(old, new, 1)
    assert plan(before, files, overwrite=overwrite) == {"naps": "none", "food": "none"}
    assert plan(sections(naps="Long", food="Light"), files, overwrite=overwrite) == {"naps": "keep", "food": "none"}
    assert plan(sections(food="Light"), files, overwrite=overwrite) == {"food": "none", "naps": "keep_orphan"}


def test_what_changes_nothing_is_no_edit() -> None:
    """Editors may change white space, line ends and the order of keys. These changes are not edits."""
    (one,) = before = sections(naps="Short")
    text = files_of(one)[one.id].replace("summary: Answers it.\n", "").replace("id:", "summary:  Answers\n  it.\nid:")
    files = {one.id: text.replace("\n", "\r\n") + "\r\n\r\n"}
    assert plan(before, files) == {"naps": "none"}
    assert plan(sections(naps="Long"), files, overwrite=True) == {"naps": "replace"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_sections_of_others_are_never_overwritten(overwrite: bool) -> None:
    """Handwritten sections, sections of other documents and unreadable files stay."""
    (one,) = new = sections(naps="Short")
    text = files_of(one)[one.id]
    by_hand = f"---\nid: {one.id}\ntitle: Naps\nsummary: Answers it.\n---\nMine.\n"
    for other in (by_hand, text.replace("guide.md#", "leaflet.md#"), "no front matter"):
        assert plan(new, {one.id: other}, overwrite=overwrite) == {"naps": "clash"}


def test_another_document_of_the_same_name_is_not_an_orphan() -> None:
    """A document that was imported with a prefix keeps its sections."""
    other = build_sections(Document([Block("Other words.")]), "guide.md", prefix="clinic")
    assert plan(sections(naps="Short"), files_of(*other), overwrite=True) == {"naps": "add"}


def test_a_model_replaces_extracted_summaries_and_not_the_reverse() -> None:
    """A model's summary replaces an extract, if overwriting is allowed. An extract never replaces a model's summary."""
    same = sections(naps="Short")
    assert plan(same, files_of(*same), by="mini") == {"naps": "outdated"}
    assert plan(same, files_of(*same), by="mini", overwrite=True) == {"naps": "replace"}
    assert plan(same, files_of(*same, by="mini"), overwrite=True) == {"naps": "none"}
    assert plan(same, files_of(*same, by="mini"), by="mini", overwrite=True) == {"naps": "none"}

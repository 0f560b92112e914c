"""The screen of knowledge bases over HTTP: sections, how often they are used, and the questions that found none."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proxy.console.conftest import console_config, serve_console
from tests.proxy.console.visitor import Granted, Visitor, serve_with_keys

CITED = "What are antipsychotics?"
UNANSWERED = "What is the capital of Peru?"
SECTION = "/console/knowledge/section?chatbot=schizophrenia&id=medication-and-side-effects"


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    folder = tmp_path_factory.mktemp("knowledge")
    with serve_console(folder, console_config(folder)) as console:
        console.say_stored(CITED, CITED, UNANSWERED)
        yield Visitor(console.url)


def rows(page: str) -> dict[str, str]:
    """Return the rows of the table of sections, by the section's id."""
    found = re.findall(r'<tr>\s*<td class="wide-cell">.*?</tr>', page, re.DOTALL)
    return {re.search(r"<code[^>]*>(.*?)</code>", row)[1]: row for row in found}  # type: ignore[index]


def test_sections_tell_size_review_and_use(visitor: Visitor) -> None:
    """Each section stands there with its tokens, its review, and how often it was chosen and cited; never cited ones are marked."""
    sections = rows(visitor.get("/console/knowledge").text)
    assert len(sections) == 28
    cited, never = sections["medication-and-side-effects"], sections["causes"]
    assert re.findall(r'data-label="(?:Selected|Cited)">(\d+)', cited) == ["2", "2"]
    assert "Never" in never
    assert "No reviewer named" in never
    assert re.search(r'data-label="Tokens">\d{3}<', never)


def test_sections_are_searched_filtered_and_sorted(visitor: Visitor) -> None:
    """Plain parameters of the address choose sections by words and use, and their order."""
    for query, first, length in (
        ("", "medication-and-side-effects", 28),
        ("words=clozapine+blood", "medication-and-side-effects", 2),
        ("shown=never&order=title", "advance-directives", 26),
        ("shown=unreviewed", "medication-and-side-effects", 28),
        ("order=title", "advance-directives", 28),
        ("order=%3Cscript%3E&chatbot=none&period=x", "medication-and-side-effects", 28),
    ):
        sections = rows(visitor.get(f"/console/knowledge?{query}").text)
        assert next(iter(sections)) == first, query
        assert len(sections) == length, query
    assert "No matching sections" in visitor.get("/console/knowledge?words=%3Cb%3E").text


def test_section_shows_its_text_and_the_turns_that_cite_it(visitor: Visitor) -> None:
    """A section's page has its text, references and the questions whose replies rest on it; an unknown one is 404."""
    page = visitor.get(SECTION).text
    assert "Medication and side effects" in page
    assert page.count(CITED) == 2
    assert UNANSWERED not in page
    assert visitor.get(SECTION.replace("medication", "no")).status == 404
    assert visitor.get(SECTION.replace("schizophrenia", "other")).status == 404


def test_questions_without_a_source_are_listed(visitor: Visitor) -> None:
    """What the knowledge base does not answer is shown, with a link to the turn."""
    page = visitor.get("/console/knowledge").text
    questions = page[page.index("Questions without a source") :]
    assert UNANSWERED in questions
    assert CITED not in questions
    assert re.search(r"/console/conversations/[0-9a-f]{32}", questions)


def test_permissions_decide_who_sees_what(tmp_path: Path) -> None:
    """Questions need `trace`, and chatbots of other keys are not there."""
    granted: Granted = {
        "chat": (("chat",), None),
        "sees": (("chat", "console"), None),
        "other": (("chat", "console", "trace"), ("other",)),
    }
    with serve_with_keys(tmp_path, granted) as (console, keys):
        console.say_stored(CITED, UNANSWERED, key=keys["chat"])
        sees = Visitor(console.url).signed_in(keys["sees"])
        page = sees.get("/console/knowledge?chatbot=schizophrenia").text
        assert UNANSWERED not in page
        assert "needs the permission <code>trace</code>" in page
        assert CITED not in sees.get(SECTION).text
        other = Visitor(console.url).signed_in(keys["other"])
        assert other.get(SECTION).status == 404
        page = other.get("/console/knowledge?chatbot=schizophrenia").text
        assert ">schizophrenia<" not in page
        assert UNANSWERED not in page


def test_without_traces_the_sections_are_there_all_the_same(tmp_path: Path) -> None:
    """Where no traces are kept, the screen says so and shows the sections."""
    config = console_config(tmp_path)
    config["privacy"]["store"] = "none"
    with serve_console(tmp_path, config) as console:
        page = Visitor(console.url).get("/console/knowledge").text
        assert "Turns are not stored" in page
        assert len(rows(page)) == 28


def test_without_a_knowledge_base_the_screen_says_so(tmp_path: Path) -> None:
    """A proxy whose chatbots have none explains what a knowledge base is for."""
    config = console_config(tmp_path)
    config["chatbots"] = {"plain": {"kind": "passthrough", "model": config["chatbots"]["schizophrenia"]["model"]}}
    with serve_console(tmp_path, config) as console:
        assert "No chatbot has a knowledge base" in Visitor(console.url).get("/console/knowledge").text


def test_imported_sections_tell_where_they_are_from_and_that_nobody_has_reviewed_them(tmp_path: Path) -> None:
    """What was imported is marked until somebody has looked at it, and its page names the document."""
    folder = tmp_path / "kb"
    folder.mkdir()
    for id, keys in {
        "new": "reviewed: false\nsource: leaflet.pdf#Sleep\n",
        "seen": "reviewed: true\n",
        "old": "",
    }.items():
        text = f"---\nid: {id}\ntitle: {id}\nsummary: About {id}.\n{keys}---\nText of {id}.\n"
        (folder / f"{id}.md").write_text(text)
    config = console_config(tmp_path)
    config["chatbots"]["schizophrenia"]["knowledge_base"] = str(folder)
    with serve_console(tmp_path, config) as console:
        visitor = Visitor(console.url)
        sections = rows(visitor.get("/console/knowledge").text)
        assert "Imported, not reviewed" in sections["new"]
        assert ">Reviewed<" in sections["seen"]
        assert "No reviewer named" in sections["old"]
        assert list(rows(visitor.get("/console/knowledge?shown=unreviewed&order=title").text)) == ["new", "old"]
        assert "leaflet.pdf#Sleep" in visitor.get("/console/knowledge/section?chatbot=schizophrenia&id=new").text

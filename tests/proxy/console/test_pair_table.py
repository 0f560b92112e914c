"""The pages of question-answer pairs over HTTP: counts, filters, pages, reviews, and a file that cannot be read."""

import html
import re
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from knowledge_base.pairs.pair import PAIRS_FILE, Review, write_pairs
from proxy.console.pair_table import read_pair_table
from tests.knowledge_base.pairs.examples import DOCUMENT, pair, write_kb
from tests.proxy.console.conftest import Body, check_looks, console_config, serve_console
from tests.proxy.console.visitor import Granted, Visitor, serve_with_keys

PAGE = "/console/knowledge/pairs?chatbot=schizophrenia"
INDEX = "/console/knowledge"
ACCEPTED = Review(reviewer="Dr. Ada", date=date(2026, 1, 31), answer_ok=True, topic_ok=True, wording_ok=True)
REVIEWS = {0: ACCEPTED, 1: ACCEPTED.model_copy(update={"answer_ok": False, "error": "omits"})}
LAST = "Wie hoch ist <b>zu hoch</b>?"


def pair_config(folder: Path) -> Body:
    """Return a configuration with 101 pairs: one reviewed, one rejected, the last of an unknown section."""
    pairs = [pair(f"Was ist Bluthochdruck {n}?", id=f"p{n}", review=REVIEWS.get(n)) for n in range(100)]
    pairs.append(pair(LAST, id="last", document="gone", focus="anderes", variants=("Ab welchem Wert?",)))
    write_pairs(write_kb(folder / "kb", bluthochdruck=DOCUMENT), pairs)
    config = console_config(folder)
    config["chatbots"]["schizophrenia"]["knowledge_base"] = str(folder / "kb")
    return config


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    folder = tmp_path_factory.mktemp("pairs")
    with serve_console(folder, pair_config(folder)) as console:
        yield Visitor(console.url)


def questions(page: str) -> list[str]:
    """Return the questions in the table of pairs."""
    return [html.unescape(one) for one in re.findall(r'<td class="wide-cell"><b>(.*?)</b><div', page)]


def test_index_counts_pairs_by_review_and_leads_to_them(visitor: Visitor) -> None:
    """One line has the counts, and a link to the page of pairs."""
    page = visitor.get(INDEX).text
    assert "101 question-answer pairs: 1 reviewed, 99 unreviewed, 1 rejected." in page
    assert '<a href="/console/knowledge/pairs">' in page


def test_knowledge_base_without_pairs_has_no_line_and_no_page(tmp_path: Path) -> None:
    """The index says nothing of pairs; their page is 404, as is that of an unknown chatbot."""
    with serve_console(tmp_path, console_config(tmp_path)) as console:
        visitor = Visitor(console.url)
        assert "question-answer pairs" not in visitor.get(INDEX).text
        assert visitor.get(PAGE).status == 404
        assert visitor.get(PAGE.replace("schizophrenia", "other")).status == 404


def test_row_has_answer_aspect_section_and_review(visitor: Visitor) -> None:
    """The section is a link if there is one; a review names the expert and the date; a question is never markup."""
    rows = re.findall(r"<tr>\s*<td.*?</tr>", visitor.get(PAGE).text, re.DOTALL)
    assert "Der Druck in den Adern ist zu hoch." in rows[0]
    assert "Reviewed by Dr. Ada, 2026-01-31" in rows[0]
    assert "Rejected by Dr. Ada, 2026-01-31: omits" in rows[1]
    assert ">Not reviewed<" in rows[2]
    assert 'data-label="Aspect">Definition<' in rows[0]
    assert 'href="/console/knowledge/section?id=bluthochdruck">Bluthochdruck<' in rows[0]
    last = visitor.get(f"{PAGE}&words=last").text
    assert "<code>gone</code>" in last
    assert "&lt;b&gt;zu hoch&lt;/b&gt;" in last


def test_pairs_are_filtered(visitor: Visitor) -> None:
    """Words, focus and review narrow the list; a value without a meaning does not."""
    for query, first, length in (
        ("words=welchem+WERT", LAST, 1),
        ("state=reviewed", "Was ist Bluthochdruck 0?", 1),
        ("state=rejected", "Was ist Bluthochdruck 1?", 1),
        ("focus=bluthochdruck&state=unreviewed&words=59", "Was ist Bluthochdruck 59?", 1),
        ("focus=nothing&state=%3Cb%3E", "Was ist Bluthochdruck 0?", 50),
    ):
        listed = questions(visitor.get(f"{PAGE}&{query}").text)
        assert (listed[0], len(listed)) == (first, length), query


def test_pages_have_fifty_pairs_and_keep_the_filter(visitor: Visitor) -> None:
    """Next and Previous lead through the matching pairs and back; a page past the end is empty."""
    first = visitor.get(f"{PAGE}&focus=bluthochdruck").text
    assert "1 to 50 of 100" in first
    assert 'href="/console/knowledge/pairs?focus=bluthochdruck&amp;before=50" rel="next"' in first
    second = visitor.get(f"{PAGE}&focus=bluthochdruck&before=50").text
    assert "51 to 100 of 100" in second
    assert questions(second)[0] == "Was ist Bluthochdruck 50?"
    assert 'rel="next"' not in second
    assert 'href="/console/knowledge/pairs?focus=bluthochdruck" rel="prev"' in second
    assert "No matching pairs" in visitor.get(f"{PAGE}&before=5000").text


def test_a_changed_file_is_read_again_and_only_then(tmp_path: Path) -> None:
    """The same version gives the same table; a broken one gives the problem, on both pages, until it is mended."""
    with serve_console(tmp_path, pair_config(tmp_path)) as console:
        visitor, folder = Visitor(console.url), tmp_path / "kb"
        assert read_pair_table(folder) is read_pair_table(folder)
        good = (folder / PAIRS_FILE).read_text(encoding="utf-8")
        (folder / PAIRS_FILE).write_text(good + '{"id": "half', encoding="utf-8")
        for address in (INDEX, PAGE):
            assert "The question-answer pairs cannot be read: pairs.jsonl:103: " in visitor.get(address).text
        assert read_pair_table(folder) is read_pair_table(folder)
        write_pairs(folder, [pair()])
        assert questions(visitor.get(PAGE).text) == ["Was ist Bluthochdruck?"]
        (folder / "taxonomy.yaml").unlink()
        assert "taxonomy.yaml: the file cannot be read" in visitor.get(PAGE).text


def test_pairs_are_shown_to_those_who_may_see_the_chatbot(tmp_path: Path) -> None:
    """Without a key the page asks to sign in; a key for another chatbot does not find it."""
    granted: Granted = {"sees": (("console",), None), "other": (("console",), ("other",))}
    with serve_with_keys(tmp_path, granted, chatbots=pair_config(tmp_path)["chatbots"]) as keyed:
        assert Visitor(keyed.console.url).ask("GET", PAGE).status == 302
        assert len(questions(keyed.visitor("sees").get(PAGE).text)) == 50
        assert keyed.visitor("other").get(PAGE).status == 404


def test_looks(visitor: Visitor, open_page: Callable[..., Any]) -> None:
    """No faults for axe-core, no horizontal scroll, in both sizes and schemes."""
    check_looks(open_page(visitor.url + PAGE), "pairs")

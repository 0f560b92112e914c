"""The page as a file: blind, self-contained, and readable in both colour schemes."""

import json
import re

import pytest

from knowledge_base.library import Source
from scenarios.checkpoint import Message
from scoring.people.page import page, rubric
from scoring.people.sheet import sheet
from tests.scoring.people.made_up_run import ROLES, TELLING, exchange, exchanges

EVIL = '</script><script>alert("x")</script><img src=https://evil.example/x>'
BEFORE = {f"{role}-1": (Message(role="user", content="Hello there."),) for role in ROLES}
SHEET = sheet(exchanges(), BEFORE, "anna", duplicates=0.25, seed=1)


@pytest.fixture(scope="module")
def shown() -> str:
    return page(SHEET, {"diet-and-sleep": Source("diet-and-sleep", "Food and sleep", "", "Sleep well.")})


def data(text: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_nothing_on_the_page_tells_the_arm(shown):
    """Neither arm, outcome, judge, draft, time, facilitator nor whose twin an item is; checked key by key."""
    for telling in TELLING:
        assert telling not in shown
    held = data(shown)
    assert set(held) == {"page", "rater", "items", "sections"}
    assert {key for item in held["items"] for key in item} == {"id", "history", "user_message", "reply", "citations"}
    assert {key for item in held["items"] for said in item["history"] for key in said} == {"role", "content"}


def test_nothing_is_loaded_from_elsewhere(shown):
    """The texts are health data, and the page is opened from disk."""
    assert shown.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in shown
    assert not re.search(r"https?://|\bsrc=|@import|url\(|\bfetch\(|<link", shown)


def test_texts_are_shown_and_not_obeyed():
    """What users and models wrote cannot end the script it stands in."""
    made = sheet([exchange(reply=EVIL, user_message=EVIL, citations=(EVIL,))], {}, EVIL, seed=1)
    text = page(made, {EVIL: Source(EVIL, EVIL, "", EVIL)})
    assert text.count("<script") == 2
    assert "<img" not in text
    assert data(text)["items"][0]["reply"] == EVIL


def test_the_rubric_is_on_the_page_as_it_is(shown):
    """Its table has a row for each score, and it is no second copy that could differ."""
    assert str(rubric()) in shown
    assert [int(score) for score in re.findall(r"<tr>\s*<td>(\d)</td>", rubric())] == [4, 3, 2, 1, 0]


def test_a_section_without_a_title_is_named_after_its_id():
    """The manifest does not always say."""
    titles = {id: one["title"] for id, one in data(page(SHEET, {}))["sections"].items()}
    assert titles == {"diet-and-sleep": "Diet and sleep"}


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast_meets_wcag_aa(shown, scheme):
    """Text 4.5 to 1 on every ground that it stands on, edges and focus 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11)."""
    colours = dict(re.findall(r"--(\w+): (#\w{6})", re.findall(r":root \{.*?\}", shown)[scheme]))
    assert len(colours) == 9
    for ground in ("paper", "card", "mark"):
        for text in ("ink", "soft", "strong", "wrong"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for edge in ("edge", "focus"):
            assert contrast(colours[edge], colours[ground]) >= 3, (edge, ground)


def contrast(one: str, two: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.2, definition of contrast ratio)."""
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

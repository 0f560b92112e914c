"""The page of a survey in a browser, from disk. Needs Debian's chromium and the Python package playwright."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scoring.people.survey import answers_model, page, read_returned
from tests.scoring.people.test_survey import FORM

playwright = pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; apt-get install chromium")


@pytest.fixture
def tab(tmp_path: Path) -> Iterator:
    """Open the page from disk; it may load nothing else and make no error."""
    (tmp_path / "survey.html").write_text(page(FORM))
    seen = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM)
        made = browser.new_page()
        made.on("request", lambda request: seen.append(request.url))
        made.on("pageerror", lambda error: seen.append(str(error)))
        made.on("console", lambda said: seen.append(said.text))
        made.goto((tmp_path / "survey.html").as_uri())
        yield made
        browser.close()
    assert [one for one in seen if not one.startswith(("file:", "blob:"))] == []


def test_a_participant_answers_and_downloads(tab) -> None:
    """With the keyboard; a wrong age is stopped, and open questions are named once."""
    tab.keyboard.press("Tab")
    tab.keyboard.type("P07")
    tab.keyboard.press("Tab")
    tab.keyboard.press("ArrowRight")
    tab.get_by_label("Was hat Ihnen am besten gefallen?").fill("Die „Ruhe“;\n=1")
    tab.get_by_role("radio", name="Vielleicht").check()
    tab.get_by_label("in welchen Situationen").fill("nachts")
    for n in range(1, 11):
        tab.locator(f"input[name=sus_{n}][value='{4 if n % 2 else 2}']").check()
    tab.get_by_label("Wie alt sind Sie").fill("7")
    save = tab.get_by_role("button", name="Antworten speichern")
    save.click()
    assert tab.evaluate("document.activeElement.name") == "age"
    tab.get_by_label("Wie alt sind Sie").fill("77")
    save.click()
    assert tab.get_by_role("status").inner_text().startswith("Noch ohne Antwort: 5, 6, 7, 8, 9, 10, 11, 23, 24.")
    with tab.expect_download() as caught:
        save.click()
    assert caught.value.suggested_filename == "answers-P07.json"
    answers = read_returned(answers_model(FORM), [caught.value.path()])["P07"].answers
    sus = {f"sus_{n}": 4 if n % 2 else 2 for n in range(1, 11)}
    texts = {"liked_most": "Die „Ruhe“;\n=1", "use_again": "Vielleicht", "use_again_comment": "nachts"}
    assert answers.model_dump(by_alias=True, exclude_none=True) == {"experience": 2, **texts, **sus, "age": 77}


def test_an_answer_can_be_cleared_and_nothing_is_kept(tab) -> None:
    """The next participant at the same computer sees an empty page."""
    tab.get_by_role("radio", name="Ja", exact=True).check()
    tab.get_by_role("button", name="Antwort löschen").click()
    assert tab.locator("input:checked").count() == 0
    tab.get_by_role("radio", name="Ja", exact=True).check()
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.reload()
    assert tab.locator("input:checked").count() == 0

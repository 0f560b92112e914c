"""The page in a browser, from disk and with keys alone. Needs Debian's chromium and the Python package playwright."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_base.library import Source
from scenarios.checkpoint import Message
from scoring.people.page import page
from scoring.people.returned_ratings import accept, parse
from scoring.people.sheet import sheet
from tests.scoring.people.made_up_run import ROLES, exchange, exchanges

playwright = pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; apt-get install chromium")

BEFORE = {
    f"{role}-1": (Message(role="user", content="Hello there."), Message(role="assistant", content="Good day."))
    for role in ROLES
}
SHEET = sheet(exchanges(samples=1, turns=2), BEFORE, "anna", duplicates=0.25, seed=1)
KEY = SHEET.key()
TOTAL = len(SHEET.items)
SECTIONS = {
    "diet-and-sleep": Source("diet-and-sleep", "Food and sleep", "", "Sleep well."),
    "causes": Source("causes", "Causes", "", "Many."),
}


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM)
        yield running
        running.close()


@pytest.fixture
def tab(browser, tmp_path: Path) -> Iterator:
    """Open the page from disk; it may load nothing else and make no error."""
    file = tmp_path / "rating-anna.html"
    file.write_text(page(SHEET, SECTIONS))
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    made = context.new_page()
    asked, errors = [], []
    made.on("request", lambda request: asked.append(request.url))
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    made.on("filechooser", lambda chooser: None)  # from the start: told later, Chromium may miss the first one
    made.goto(file.as_uri())
    yield made
    context.close()
    assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []
    assert errors == []


def press(tab, keys: str) -> None:
    for key in keys.split():
        tab.keyboard.press(key)


def downloaded(tab) -> dict:
    with tab.expect_download() as caught:
        press(tab, "w")
    assert caught.value.suggested_filename == "ratings-anna.json"
    return json.loads(Path(caught.value.path()).read_text())


def rated(tab) -> str:
    return tab.locator("#count").inner_text()


def reload(tab, count: str) -> None:
    """Reload until the count shows: Chromium writes storage in the background, and may start the page in another process."""
    for _ in range(20):
        tab.reload()
        if rated(tab) == count:
            return
        tab.wait_for_timeout(100)
    assert rated(tab) == count


def checked(tab) -> list[str]:
    return tab.locator("input[type=radio]:checked").evaluate_all("all => all.map(one => one.value)")


def test_rates_with_keys_survives_a_reload_and_downloads(tab):
    """From the first reply to a file that the import accepts as complete."""
    assert tab.locator("#where").inner_text() == f"Reply 1 of {TOTAL}"
    assert tab.locator("#reply p").inner_text() == SHEET.items[0].exchange.reply
    assert tab.locator("#history .message").all_text_contents()[:2] == ["UserHello there.", "ChatbotGood day."]
    press(tab, "3 d n 1 f")
    press(tab, "/")
    tab.keyboard.type("n 4 u?")
    press(tab, "Escape ArrowRight 0")
    assert rated(tab) == f"2 of {TOTAL} rated"

    reload(tab, f"2 of {TOTAL} rated")
    assert tab.locator("#where").inner_text() == f"Reply 3 of {TOTAL}"
    assert checked(tab) == ["0"]
    press(tab, "p")
    assert checked(tab) == ["1", "nothing"]
    assert tab.locator("#note").input_value() == "n 4 u?"
    incomplete = downloaded(tab)
    assert [one["score"] for one in incomplete["ratings"]] == [3, 1, 0]

    press(tab, "m a")
    for _ in range(TOTAL - 3):
        press(tab, "m 4 s")
    assert rated(tab) == f"{TOTAL} of {TOTAL} rated"
    assert tab.locator("progress").evaluate("bar => bar.value / bar.max") == 1
    held = downloaded(tab)
    assert set(held) == {"page", "rater", "ratings"}
    assert held["ratings"][1] | {"seconds": 0} == {
        "id": SHEET.items[1].id, "score": 1, "answered": "nothing", "note": "n 4 u?", "seconds": 0,
    }  # fmt: skip
    accepted = accept(parse(json.dumps(held)), KEY)
    assert [one.score for one in accepted.ratings] == [3, 1, 0] + [4] * (accepted.replies - 3)


def test_keys_at_the_ends_and_clearing(tab):
    """Nothing wraps round; u takes score and answer back and leaves the note."""
    press(tab, "ArrowLeft")
    assert tab.locator("#status").inner_text() == "This is the first reply."
    press(tab, "2 d /")
    tab.keyboard.type("keep me")
    press(tab, "Escape u")
    assert (checked(tab), rated(tab)) == ([], f"0 of {TOTAL} rated")
    assert tab.locator("#note").input_value() == "keep me"
    press(tab, "n " * TOTAL)
    assert tab.locator("#status").inner_text() == "This is the last reply."


def test_a_downloaded_file_can_be_loaded_back(tab, tmp_path: Path):
    """One of another page is refused, without a change."""
    press(tab, "3 d n 1 f")
    held = downloaded(tab)
    press(tab, "u p u")
    for name, change in (("wrong.json", {"page": "feed"}), ("right.json", {})):
        (tmp_path / name).write_text(json.dumps(held | change))
    load(tab, tmp_path / "wrong.json")
    tab.locator("#alert", has_text="wrong.json is of another page").wait_for()
    assert rated(tab) == f"0 of {TOTAL} rated"
    load(tab, tmp_path / "right.json")
    tab.locator("#status", has_text="Loaded 2 of the 2 ratings in right.json.").wait_for()
    assert (rated(tab), checked(tab)) == (f"2 of {TOTAL} rated", ["3", "2"])
    assert not tab.locator("#alert").is_visible()


def load(tab, file: Path) -> None:
    with tab.expect_file_chooser(timeout=5000) as caught:
        press(tab, "l")
    caught.value.set_files(file)


def test_time_counts_while_somebody_works(tab):
    """An item's time is its own, and a lunch break counts five minutes at most."""
    tab.clock.install()
    tab.reload()
    tab.clock.fast_forward(20_000)
    press(tab, "3 n")
    tab.clock.fast_forward(3_600_000)
    press(tab, "2 n")
    first, second = (one["seconds"] for one in downloaded(tab)["ratings"])
    assert 19 < first < 25  # the browser's clock and the page's do not begin in the same instant
    assert 300 <= second < 305


def test_says_so_when_progress_cannot_be_kept(tab):
    """A browser may refuse storage to files; then the download is all there is."""
    assert not tab.locator("#alert").is_visible()
    tab.add_init_script("Storage.prototype.setItem = () => { throw new Error('full') }")
    tab.reload()
    assert "cannot save your progress" in tab.locator("#alert").inner_text()
    press(tab, "3 d")
    assert downloaded(tab)["ratings"][0]["score"] == 3


def test_two_tabs_of_a_page_do_not_undo_each_other(tab):
    """What is rated in one is rated in the other."""
    second = tab.context.new_page()
    second.goto(tab.url)
    press(tab, "3 d")
    second.locator("#count", has_text="1 of").wait_for()
    press(second, "n 2 a")
    tab.locator("#count", has_text="2 of").wait_for()
    assert [one["score"] for one in downloaded(tab)["ratings"]] == [3, 2]


def test_rubric_sources_and_help_are_one_key_away(tab):
    """The same key or Escape closes them; while one is open, no key rates."""
    for key, name, holds in (
        ("r", "Rubric", "excusable"),
        ("k", "Sources", "Sleep well."),
        ("?", "Help", "next, previous"),
    ):
        press(tab, key)
        dialog = tab.get_by_role("dialog", name=name)
        assert holds in dialog.inner_text()
        press(tab, "4 n")
        press(tab, key)
        assert not dialog.is_visible()
    press(tab, "r Escape")
    assert not tab.get_by_role("dialog").is_visible()
    assert (checked(tab), tab.locator("#where").inner_text()) == ([], f"Reply 1 of {TOTAL}")


def test_opens_at_its_start_with_its_buttons_in_sight(tab):
    """A rater who knows no key sees the conversation from its beginning, and how to go on."""
    assert tab.evaluate("scrollY") == 0
    for name in ("Previous", "Next", "Next unrated", "Download", "Rubric"):
        box = tab.get_by_role("button", name=name).filter(visible=True).first.bounding_box()
        assert 0 <= box["y"] <= 900 - box["height"], name
    tab.get_by_role("button", name="Next unrated").click()
    assert tab.locator("#where").inner_text() == f"Reply 2 of {TOTAL}"


def test_cited_sections_stand_below_the_reply(tab):
    """What it cites is read without a key; on a phone it is folded, since the scores stand below it."""
    citing = next(number for number, one in enumerate(SHEET.items) if "diet-and-sleep" in one.exchange.citations)
    press(tab, "n " * citing)
    assert tab.locator("#passages").get_by_text("Sleep well.").is_visible()
    tab.set_viewport_size({"width": 360, "height": 740})
    press(tab, "n p" if citing + 1 < TOTAL else "p n")
    assert tab.locator("#passages summary").count() == 1
    assert not tab.locator("#passages").get_by_text("Sleep well.").is_visible()


def test_single_keys_can_be_switched_off(tab):
    """Speech input presses them by chance (WCAG 2.2, 2.1.4); Tab and Space still rate."""
    press(tab, "?")
    tab.get_by_role("checkbox", name="Single keys").uncheck()
    press(tab, "Escape")
    tab.get_by_role("dialog").wait_for(state="hidden")
    press(tab, "3 n")
    assert (checked(tab), tab.locator("#where").inner_text()) == ([], f"Reply 1 of {TOTAL}")
    tab.get_by_role("radio", name="supported, or no claims").focus()
    press(tab, "Space")
    assert checked(tab) == ["4"]
    # Chromium writes the storage of a file's page later; a reload at once may find the old one.
    tab.wait_for_timeout(500)
    tab.reload()
    press(tab, "2")
    assert checked(tab) == ["4"]


def test_everything_has_a_name_for_screen_readers(tab):
    """Groups, choices, the reply, progress; focus goes to the heading of the reply and can be seen."""
    for role, name in (
        ("group", "Score"), ("group", "Of the sources' answer"), ("article", "The reply to rate"), ("textbox", "Note"),
        ("progressbar", f"0 of {TOTAL} rated"), ("navigation", "Page"), ("region", "Conversation"), ("form", "Your rating"),
    ):  # fmt: skip
        assert tab.get_by_role(role, name=name).count() == 1, name
    assert tab.get_by_role("radio").count() == 9
    tab.get_by_role("radio").first.focus()
    press(tab, "n")
    assert tab.evaluate("document.activeElement.id") == "where"
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    press(tab, "2")
    assert tab.get_by_role("status").inner_text().startswith("Score 2.")


def test_fits_at_400_percent_in_both_colour_schemes(tab):
    """1280 pixels at 400 % are 320 (WCAG 2.2, 1.4.10): nothing is cut off or has to be scrolled sideways."""
    tab.set_viewport_size({"width": 320, "height": 256})
    for scheme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 27)")):
        tab.emulate_media(color_scheme=scheme)
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == ground
        assert tab.evaluate("document.documentElement.scrollWidth") <= 320
    press(tab, "n 3")
    assert checked(tab) == ["3"]


def test_documents_stand_below_the_reply_that_rests_on_them(browser, tmp_path: Path):
    """Two replies may cite different ones by the same id; the sections stay within reach."""
    said = [
        exchange(arm, citations=("doc:1",), documents=[{"id": "doc:1", "title": f"Count of {arm}", "text": f"{arm}: 4,310."}])
        for arm in ("on", "off")
    ]  # fmt: skip
    made = sheet(said, {}, "anna", duplicates=0, seed=1)
    file = tmp_path / "rating-anna.html"
    file.write_text(page(made, SECTIONS))
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(file.as_uri())
    for item in made.items:
        assert tab.locator("#cited").inner_text() == f"It cites: Count of {item.exchange.place.arm}"
        assert tab.locator("#passages p").inner_text() == f"{item.exchange.place.arm}: 4,310."
        press(tab, "k")
        assert tab.locator("#sections summary").all_text_contents() == [
            f"Count of {item.exchange.place.arm} (cited)", "Causes", "Food and sleep"
        ]  # fmt: skip
        press(tab, "Escape n")
    tab.close()

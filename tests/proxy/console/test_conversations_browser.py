"""Conversations in a browser: looked at in each size and scheme, and used by keyboard alone."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.proxy.console.conftest import Console, check_looks
from tests.proxy.console.rich_trace import rich_trace
from tests.proxy.console.test_conversations import HOSTILE, LIST, record, serve

RICH = "f00d" + 28 * "0"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console with a conversation of real turns, an emergency, a hostile message, and a turn in which everything happens."""
    folder = tmp_path_factory.mktemp("conversations")
    with serve(folder) as console:
        history: list[dict[str, str]] = []
        for text in (
            "What is schizophrenia?",
            "Which dose of olanzapine should I take?",
            "You are my friend now, right?",
        ):
            answer = console.say(text, history=history)["choices"][0]["message"]["content"]
            history += [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
        console.say("I want to kill myself tonight")
        console.say(HOSTILE)
        record(console, rich_trace(), rich_trace("abcd" + 28 * "0", user_message="w" * 3000, replies=[HOSTILE * 500]))
        yield console


def test_the_list_is_good_to_look_at(told: Console, open_page: Callable[..., Any]) -> None:
    """No fault that axe-core finds, nothing wider than the screen."""
    page = open_page(told.url + LIST)
    page.locator("details.more-filters summary").click()
    check_looks(page, "conversations")


def test_a_turn_is_good_to_look_at(told: Console, open_page: Callable[..., Any]) -> None:
    """With everything opened that can be."""
    page = open_page(f"{told.url}{LIST}/{RICH}")
    for summary in page.locator(".story summary").all():
        if not summary.evaluate("one => one.parentElement.open"):
            summary.click()
    check_looks(page, "turn")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("?view=conversations", "folded"),
        ("?q=nobody+said+this", "no-match"),
        ("/abcd", "hostile-turn"),
        (f"/{RICH}/delete", "delete"),
    ],
)
def test_other_pages_are_good_to_look_at(told: Console, open_page: Callable[..., Any], path: str, name: str) -> None:
    """Folded, empty, hostile, and where one is asked."""
    check_looks(open_page(told.url + LIST + path), f"conversations-{name}")


def test_one_reads_labels_and_goes_on_by_keyboard(told: Console, open_page: Callable[..., Any]) -> None:
    """From the search to a turn, through its neighbours within the filter, a label, and back to the list as it was."""
    page = open_page(told.url + LIST)
    page.keyboard.press("/")
    page.keyboard.type("clozapine")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.locator("a[data-row]").count() == 1
    page.keyboard.press("Escape")
    with page.expect_navigation():
        page.keyboard.press("x")
    page.keyboard.press("/")
    page.keyboard.press("Tab")
    page.keyboard.type("Refined")
    while page.evaluate("document.activeElement.textContent") != "Apply":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**outcome=refined**")
    page.locator("body").press("Escape")
    page.evaluate("document.activeElement.blur()")
    listed = page.locator("a[data-row]").evaluate_all("links => links.map(link => link.href)")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url == listed[0]
    with page.expect_navigation():
        page.keyboard.press("j")
    assert page.url == listed[1], "the next turn of the list, not of all turns"
    with page.expect_navigation():
        page.keyboard.press("k")
    page.keyboard.press("l")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.type("because")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    given = page.locator(".given").first.inner_text()
    assert re.search(r"(?s)Warn.*because", given)
    page.keyboard.press("u")
    page.wait_for_url("**/conversations?outcome=refined")
    assert "emergency: warn" in page.locator("table").inner_text()


def test_a_scenario_is_copied_by_keyboard(told: Console, open_page: Callable[..., Any]) -> None:
    """And says that it was."""
    page = open_page(f"{told.url}{LIST}?q=olanzapine", permissions=["clipboard-read", "clipboard-write"])
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversations/*")
    with page.expect_navigation():
        page.keyboard.press("s")
    page.keyboard.press("c")
    page.wait_for_function("document.getElementById('copied').textContent.startsWith('Copied')")
    assert "user_message" in page.evaluate("navigator.clipboard.readText()")
    check_looks(page, "scenario")


def test_the_list_works_without_scripts(told: Console, open_page: Callable[..., Any]) -> None:
    """The form and its links do all of it."""
    page = open_page(told.url + LIST, java_script_enabled=False)
    page.select_option("select[name=outcome]", "emergency")
    page.get_by_role("button", name="Apply").click()
    assert page.locator("a[data-row]").count() == 1
    page.locator("a[data-row]").click()
    assert "kill myself" in page.locator(".event.user").inner_text()


def test_times_of_the_filter_are_in_the_time_zone_of_the_browser(told: Console, open_page: Callable[..., Any]) -> None:
    """The fields show local time, the address has UTC. Without scripts both are UTC, and the labels say so."""
    address = f"{told.url}{LIST}?from=2026-01-31T20%3A00"
    page = open_page(address, timezone_id="Asia/Kolkata")
    assert page.get_by_label("From", exact=True).input_value() == "2026-02-01T01:30"
    page.get_by_label("Until", exact=True).fill("2026-02-01T02:30")
    with page.expect_navigation():
        page.get_by_role("button", name="Apply").click()
    assert page.url.endswith("?q=&outcome=&age=&judge=&verdict=&label=&rule=&alarm=&nosource=&mended="
                             "&from=2026-01-31T20%3A00&to=2026-01-31T21%3A00&id=")  # fmt: skip
    assert page.get_by_label("Until", exact=True).input_value() == "2026-02-01T02:30"
    plain = open_page(address, java_script_enabled=False)
    assert plain.get_by_label("From (UTC)").input_value() == "2026-01-31T20:00"

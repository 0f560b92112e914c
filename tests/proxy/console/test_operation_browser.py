"""The operations page in a browser: its looks, its refresh, and its times."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.proxy.console.conftest import Console, check_looks


@pytest.fixture(scope="module")
def address(console: Console) -> str:
    """The address of the screen, with turns of different outcomes."""
    console.say_stored(
        "What is schizophrenia?", "Which dose of olanzapine should I take?", "I want to kill myself tonight."
    )
    return f"{console.url}/console/operation?period=hour"


def test_looks(address: str, open_page: Callable[..., Any]) -> None:
    """No faults for axe-core, no horizontal scroll, in both sizes and schemes."""
    page = open_page(address)
    page.locator("#numbers-outcomes summary").click()
    check_looks(page, "operation")


def test_asked_again_everything_stays_where_it_is(
    address: str, open_page: Callable[..., Any], console: Console
) -> None:
    """After a refresh there are new figures, what was open is open, and the page has not scrolled; all by keyboard."""
    page = open_page("about:blank")
    page.clock.install()
    page.goto(address)
    page.keyboard.press("t")
    assert page.evaluate("document.activeElement.name") == "period"
    page.keyboard.press("Escape")
    page.locator("#numbers-tokens summary").focus()
    page.keyboard.press("Enter")
    page.evaluate("window.scrollTo(0, 400)")
    console.say_stored("What are antipsychotics?")
    with page.expect_response("**/operation/figures?**"):
        page.clock.fast_forward(16_000)
    page.wait_for_selector("text=4turns")
    assert page.locator("#numbers-tokens").get_attribute("open") is not None
    assert page.evaluate("window.scrollY") == 400


def test_times_are_in_the_locale_and_time_zone_of_the_browser(address: str, open_page: Callable[..., Any]) -> None:
    """In texts and at the axes, also after a refresh; the server's text is UTC."""
    page = open_page(address, locale="de-DE", timezone_id="Asia/Kolkata")
    updated = page.locator(".asked time")
    assert re.search(r"\d\d\.\d\d\.\d\d, \d\d:\d\d:\d\d$", updated.inner_text())
    assert updated.get_attribute("title").endswith(" UTC")
    labels = page.locator(".plot text[data-time]")
    utc = datetime.fromisoformat(labels.first.get_attribute("data-time"))
    assert labels.first.text_content() == f"{utc + timedelta(hours=5, minutes=30):%H:%M}"
    bar = page.locator(".plot rect title").first
    assert not bar.text_content().startswith(bar.get_attribute("data-utc"))
    assert ": " in bar.text_content()


def test_a_calendar_date_is_the_same_day_in_every_time_zone(address: str, open_page: Callable[..., Any]) -> None:
    """A review has a date and no time."""
    page = open_page(address, locale="en-US", timezone_id="America/Los_Angeles")
    page.evaluate(
        "document.querySelector('main').insertAdjacentHTML('beforeend', '<p id=day><time datetime=2026-01-31>x</time></p>')"
    )
    page.evaluate("import('/console/static/console.js').then(({ showTimes }) => showTimes())")
    page.wait_for_function("document.querySelector('#day').textContent !== 'x'")
    assert page.locator("#day").inner_text() == "Jan 31, 2026"

"""The screen of operation in a browser: how it looks, and how it is asked for again."""

from collections.abc import Callable
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

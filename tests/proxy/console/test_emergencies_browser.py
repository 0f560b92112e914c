"""The inbox of emergencies in a browser: by keyboard alone, and how it looks."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from proxy.console.emergencies import OPEN_COUNTS
from tests.proxy.console.conftest import Console, check_looks

expect = pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed").expect

SAID = (
    "I want to kill myself tonight.",
    "My brother says he will stab the neighbour. What should I do?",
    "I feel like there is no point in anything any more and everyone would be better off",
    "I want to die. <b>alert(1)</b>",
)


@pytest.fixture(scope="module")
def inbox(console: Console) -> str:
    """The address of an inbox with four open items, one of them a concern."""
    console.say_stored(*SAID)
    return f"{console.url}/console/emergencies"


def expect_open(page: Any, count: int) -> None:
    """Wait until the title of the page tells how many items are open."""
    expect(page).to_have_title(re.compile(rf"^\({count}\) "))


def test_looks(inbox: str, open_page: Callable[..., Any]) -> None:
    """No faults for axe-core, no horizontal scroll, in both sizes and schemes."""
    page = open_page(inbox)
    page.wait_for_selector("nav .badge:not([hidden])")
    check_looks(page, "emergencies")


def test_keyboard_alone_goes_through_the_inbox(inbox: str, open_page: Callable[..., Any]) -> None:
    """j and k move, r and f answer, u takes back; the number of open ones in the title follows."""
    page = open_page(inbox)
    expect_open(page, 4)
    page.keyboard.press("j")
    assert page.locator(".inbox > li").nth(1).locator(".alarm[aria-current]").count() == 1
    page.keyboard.press("f")
    expect_open(page, 3)
    assert "False alarm" in page.locator(".alarm:focus strong").inner_text()
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect_open(page, 2)
    page.keyboard.press("k")
    page.keyboard.press("u")
    expect_open(page, 3)
    page.keyboard.press("j")
    page.keyboard.press("u")
    expect_open(page, 4)
    page.keyboard.press("?")
    keys = page.locator("#keys dl").inner_text()
    assert all(word in keys for word in ("Next alarm", "Confirm emergency", "Mark as false alarm", "Open turn"))


def test_what_comes_in_meanwhile_is_told(inbox: str, open_page: Callable[..., Any], console: Console) -> None:
    """A page that is open says that something new has come in, and shows it on a key; an undo is nothing new."""
    page = open_page("about:blank")
    page.clock.install()
    page.goto(inbox)
    expect_open(page, 4)
    page.keyboard.press("f")
    expect_open(page, 3)
    page.keyboard.press("u")
    expect_open(page, 4)
    assert page.locator("#fresh").is_hidden()
    console.say_stored("The voices tell me to jump and I have to obey")
    console.app[OPEN_COUNTS].clear()  # the number is good for some seconds
    page.clock.fast_forward(31_000)
    page.wait_for_selector("#fresh:not([hidden])")
    page.keyboard.press("n")
    expect_open(page, 5)
    assert page.locator(".inbox > li").count() == 5

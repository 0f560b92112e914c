"""The screen of knowledge bases in a browser: by keyboard alone, and how it looks."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.proxy.console.conftest import Console, check_looks


@pytest.fixture(scope="module")
def address(console: Console) -> str:
    """The address of the screen, with turns that cite a section and one that found none."""
    console.say_stored(
        "What are antipsychotics?", "How is cannabis linked to psychosis?", "What is the capital of Peru?"
    )
    return f"{console.url}/console/knowledge"


def test_looks(address: str, open_page: Callable[..., Any]) -> None:
    """No faults for axe-core, no horizontal scroll, in both sizes and schemes."""
    check_looks(open_page(address), "knowledge")


def test_section_looks_and_keyboard_alone(address: str, open_page: Callable[..., Any]) -> None:
    """A word is searched, a section opened, the next one read, and back, without a mouse."""
    page = open_page(address)
    page.keyboard.press("/")
    page.keyboard.type("clozapine")
    page.keyboard.press("Enter")
    page.wait_for_url("**words=clozapine**")
    page.locator(".sections a", has_text="Medication").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/section?**")
    check_looks(page, "knowledge-section")
    page.keyboard.press("j")
    page.wait_for_url("**id=myths-and-stigma**")
    page.keyboard.press("Escape")
    page.wait_for_url("**/console/knowledge?**")

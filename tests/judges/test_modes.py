"""Which judges a reply calls for."""

import pytest

from judges.case import Case
from judges.modes import modes_of
from tests.judges.builders import MEDICINES

SUPPORTED = "People who take clozapine need regular blood tests."


def modes(draft, classes=(), cited=(MEDICINES,)):
    return set(modes_of(Case("What should I know?", draft, cited=cited), classes))


def test_reply_that_keeps_to_its_sections_has_the_mode_source():
    """It is for the judge of faithfulness."""
    assert modes(SUPPORTED) == {"source"}


@pytest.mark.parametrize("classes", [(), ("no_claims",), ("not_in_sources",)])
def test_reply_that_cites_no_section_has_the_mode_default(classes):
    """Whether it cites a class or nothing at all."""
    assert modes(SUPPORTED, classes, cited=()) == {"default"}


def test_reply_that_cites_a_section_and_a_class_has_both_modes():
    """The class says that something in it is not from the section."""
    assert modes(SUPPORTED, ("not_in_sources",)) == {"source", "default"}


def test_citing_a_section_does_not_switch_the_other_judges_off():
    """A reply that asserts what its section does not support has both modes, whatever it cites."""
    assert modes(f"{SUPPORTED} Ashwagandha and a strict keto diet cure voices within a week.") == {"source", "default"}


def test_reply_that_cannot_be_read_has_both_modes():
    """In another language nobody can rule out that it goes beyond its section."""
    draft = "Wer Clozapin nimmt, braucht regelmäßige Blutproben, und Zink heilt die Stimmen innerhalb einer Woche."
    assert modes(draft) == {"source", "default"}

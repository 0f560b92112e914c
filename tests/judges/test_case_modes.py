"""Modes: which judges a reply needs."""

import pytest

from judges.case import Case, modes_of
from tests.judges.builders import MEDICINES

SUPPORTED = "People who take clozapine need regular blood tests."


def modes(draft, classes=(), cited=(MEDICINES,)):
    return set(modes_of(Case("What should I know?", draft, cited=cited), classes))


def test_reply_that_keeps_to_its_sections_has_the_mode_source():
    """A reply that cites only sections goes to the judge of source fidelity."""
    assert modes(SUPPORTED) == {"source"}


@pytest.mark.parametrize("classes", [(), ("no_claims",), ("not_in_sources",)])
def test_reply_that_cites_no_section_has_the_mode_default(classes):
    """This holds whether the reply cites a class or nothing."""
    assert modes(SUPPORTED, classes, cited=()) == {"default"}


def test_reply_that_cites_a_section_and_a_class_has_both_modes():
    """The class says that part of the reply is not from the section."""
    assert modes(SUPPORTED, ("not_in_sources",)) == {"source", "default"}

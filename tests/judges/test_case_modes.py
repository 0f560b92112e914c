"""Which judges a reply calls for."""

import pytest

from judges.case import Case, modes_of
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

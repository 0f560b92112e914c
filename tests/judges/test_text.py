"""Sentences of texts, as the local judges read them."""

from judges.text import sentences


def test_full_stop_after_an_abbreviation_or_a_number_ends_nothing() -> None:
    """This holds only directly after the abbreviation or number."""
    assert [s.text for s in sentences("Ask e.g. Dr. Lee. 2. Sleep.")] == ["Ask e.g. Dr. Lee.", "Sleep."]
    assert [s.text for s in sentences("It is e.g\u2028. Sleep.")] == ["It is e.g\u2028.", "Sleep."]


def test_keys_of_json_that_say_nothing_are_no_sentences() -> None:
    """A JSON reply is read like plain text. A key with content stays with its value."""
    text = "answer:\ntext: Sleep helps.\nsure: true\nsteps:\nRest."
    assert [s.text for s in sentences(text)] == ["Sleep helps.", "Rest."]
    assert "".join(s.lead + s.text for s in sentences(text)) == text
    assert [s.text for s in sentences("stop: your tablets\nsafe: true")] == ["stop: your tablets", "safe: true"]

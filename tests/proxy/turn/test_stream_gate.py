"""The committed and the sent text of a reply."""

import pytest

from proxy.turn.stream import NO_TEXT, CommittedText, StreamGate


def test_only_what_is_asked_for_anew_is_forgotten() -> None:
    """One choice can be redrafted while another choice's committed text is kept."""
    gate = StreamGate()
    gate.commit(0, "One.", ("a",))
    gate.commit(1, "Two.", ("b",))
    assert gate.forget([1])
    assert (gate.committed(0), gate.committed(1)) == (CommittedText("One.", ("a",)), NO_TEXT)


def test_what_was_sent_is_not_forgotten() -> None:
    """Nor the text of choices requested together with it."""
    gate = StreamGate()
    gate.commit(0, "One.", ())
    gate.open()
    assert gate.take_pieces() == [(0, "One.", True)]
    gate.commit(1, "Two.", ())
    assert not gate.forget([0, 1])
    assert gate.forget([1])
    gate.commit(0, "One. More.", ())
    assert gate.take_pieces() == [(0, " More.", False)]


def test_what_is_fixed_is_never_taken_back() -> None:
    """The user may have read it."""
    gate = StreamGate()
    gate.commit(0, "One.", ())
    with pytest.raises(ValueError, match="must begin with"):
        gate.commit(0, "Two.", ())

"""What is fixed of a reply, and what of that has been sent."""

import pytest

from proxy.turn.stream import NO_TEXT, CommittedText, StreamGate


def test_only_what_is_asked_for_anew_is_forgotten() -> None:
    """One choice may be drafted again while what is committed of another stays."""
    gate = StreamGate()
    gate.commit(0, "One.", ("a",))
    gate.commit(1, "Two.", ("b",))
    assert gate.forget([1])
    assert (gate.committed(0), gate.committed(1)) == (CommittedText("One.", ("a",)), NO_TEXT)


def test_what_was_sent_is_not_forgotten() -> None:
    """Nor what is asked for together with it."""
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
    """It may have been read."""
    gate = StreamGate()
    gate.commit(0, "One.", ())
    with pytest.raises(ValueError, match="does not begin with"):
        gate.commit(0, "Two.", ())

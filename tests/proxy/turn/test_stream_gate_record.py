"""What is fixed of a reply, and what of that has been sent."""

import pytest

from proxy.turn.stream_gate import NOTHING, Fixed, Live


def test_only_what_is_asked_for_anew_is_forgotten() -> None:
    """One choice may be drafted again while another is being rewritten from where it has left."""
    live = Live("verified")
    live.fix(0, "One.", ("a",))
    live.fix(1, "Two.", ("b",))
    assert live.forget([1])
    assert (live.fixed(0), live.fixed(1)) == (Fixed("One.", ("a",)), NOTHING)


def test_what_was_sent_is_not_forgotten() -> None:
    """Nor what is asked for together with it."""
    live = Live("verified")
    live.fix(0, "One.", ())
    live.clear()
    assert live.take() == [(0, "One.", True)]
    live.fix(1, "Two.", ())
    assert not live.forget([0, 1])
    assert live.forget([1])
    live.fix(0, "One. More.", ())
    assert live.take() == [(0, " More.", False)]


def test_nothing_is_given_out_before_there_is_no_emergency() -> None:
    """However much of it is fixed."""
    live = Live("observe")
    live.fix(0, "One.", ())
    assert (live.take(), live.news.is_set()) == ([], False)
    live.clear()
    assert live.news.is_set()


def test_what_is_fixed_is_never_taken_back() -> None:
    """It may have been read."""
    live = Live("verified")
    live.fix(0, "One.", ())
    with pytest.raises(ValueError, match="does not go on"):
        live.fix(0, "Two.", ())

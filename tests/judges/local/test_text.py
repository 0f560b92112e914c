"""Text as the local judges read it."""

from hypothesis import given
from hypothesis import strategies as st

from judges.local.text import stretches


@given(st.text(alphabet=st.sampled_from("ab. \n\t\u2028!"), max_size=30))
def test_stretches_cut_no_word(text: str) -> None:
    """What stands between two spaces stays in one piece."""
    assert [word for stretch in stretches(text) for word in stretch.split()] == text.split()


def test_stretch_ends_with_sentence_or_line() -> None:
    """A sentence that is said again is a stretch that is known."""
    text = "Sleep helps. Most adults need 7.5 hours.\n- Rest"
    assert stretches(text) == ["Sleep helps.", "Most adults need 7.5 hours.", "- Rest"]

"""Cutting a draft to its length."""

import time

from hypothesis import example, given
from hypothesis import strategies as st

from models.usage import estimate_tokens
from proxy.turn.draft import cut_to_tokens

ENDS = (". ", ".\n", "! ", "? ", "!\n", "?\n")
WRITTEN = st.lists(
    st.sampled_from(["a", "Sleep helps", ". ", ".\n", "! ", "?\n", " ", "睡", "🙂", "\ud83d"]), max_size=40
)


@given(WRITTEN.map("".join), st.integers(1, 30))
@example("One. Two. ", 1)
def test_a_text_is_cut_at_the_last_sentence_that_fits(text: str, tokens: int) -> None:
    """Without a sentence end within the limit, it is cut at the limit."""
    kept = cut_to_tokens(text, tokens)
    assert text.startswith(kept)
    assert estimate_tokens(kept) <= tokens
    if estimate_tokens(text) <= tokens:
        assert kept == text
        return
    ends = [
        n + 1 for n in range(1, len(text) - 1) if text[n : n + 2] in ENDS and estimate_tokens(text[: n + 1]) <= tokens
    ]
    latest = max(n for n in range(len(text)) if estimate_tokens(text[:n]) <= tokens)
    assert kept == text[: max(ends, default=latest)].rstrip()


def test_cutting_takes_time_linear_in_the_text() -> None:
    """Cutting blocks the event loop. Sentence by sentence it took minutes."""
    started = time.process_time()
    assert cut_to_tokens("ab. " * 1_000_000, 600) == ("ab. " * 600).rstrip()
    assert time.process_time() - started < 2

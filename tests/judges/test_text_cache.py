"""The cache of results for texts is bounded."""

from judges.text import LONG_TEXTS, MAX_LONG_CHARS, cache_texts


def test_a_text_that_comes_again_is_not_worked_on_again() -> None:
    """The least recently used text is dropped. Few long texts are cached, and none beyond the limit."""
    asked: list[str] = []

    @cache_texts(max_texts=2, max_chars=5)
    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    long, longest = [f"longer {n}" for n in range(LONG_TEXTS + 1)], "a" * (MAX_LONG_CHARS + 1)
    texts = ["a", "b", "a", "c", "a", "b", long[0], long[0], *long[1:], long[0], longest, longest]
    assert [upper(text) for text in texts] == [text.upper() for text in texts]
    assert asked == ["a", "b", "c", "b", *long, long[0], longest, longest]

"""What was found out about texts is cached within bounds."""

from judges.text_cache import cache_texts


def test_a_text_that_comes_again_is_not_worked_on_again() -> None:
    """Of many texts the longest unused is forgotten; a long one is never cached, since clients send what they like."""
    asked: list[str] = []

    @cache_texts(max_texts=2, max_chars=5)
    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    texts = ["a", "b", "a", "c", "a", "b", "longer", "longer"]
    assert [upper(text) for text in texts] == [text.upper() for text in texts]
    assert asked == ["a", "b", "c", "b", "longer", "longer"]

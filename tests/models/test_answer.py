"""Lenient parsing of answers."""

from models.answer import decode_answer


def test_an_answer_nested_too_deeply_is_no_answer() -> None:
    """NaN forces the lenient decoder, which must not crash on deep nesting."""
    for depth in (300, 900, 5_000, 200_000):
        raw = b'{"x": NaN, "y": ' + b"[" * depth + b"]" * depth + b', "choices": []}'
        assert decode_answer(raw) is None or decode_answer(raw)["choices"] == []

"""Which of the configured languages a message is in, so that it is answered in words that are understood."""

from collections.abc import Iterable

from judges.languages import rank_languages

READ = 4_000
"""Characters of a message that tell its language, the last ones: a turn does not wait for more to be read."""
LEAST = 0.15
"""Probability that a message is in a language, below which it is not said to be: a text without words has 0.12 for English, and a
message in a language that is not configured mostly less for the others. Chosen on judges/training/talk/dev.jsonl."""


def language_of(text: str, among: Iterable[str]) -> str | None:
    """Return the code, of some, of the language that a text is most probably in, the first on a tie; None: probably in none."""
    codes = list(filter(None, among))  # a text for all languages stands under ""
    if not codes:
        return None
    ranked = rank_languages(text[-READ:])
    best = max(codes, key=lambda code: ranked.get(code, 0.0))
    return best if ranked.get(best, 0.0) >= LEAST else None

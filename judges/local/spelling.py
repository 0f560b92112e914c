"""Corrects the spelling of a text for rules and classifiers, and can return the original words for a quote.

People in distress write `im gonna k1ll myself 2nite`, without apostrophes, on phones that insert invisible characters. The
speller turns this text into `i am going kill myself tonight`.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain, pairwise

from judges.text import cache_texts

STOP, QUESTION = ".", "?"
"""The tokens that end a sentence."""

INVISIBLE = "\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_CHUNK = re.compile(
    rf"[\w@$'’‘ʼ`´{INVISIBLE}\u0300-\u036f]+(?:[!*.\-|]+[\w@$'’]+)*"
    r"|\.{2,}|…|[.!?;]+|[,:()\n–—]"
)
_WIPE = re.compile(f"[{INVISIBLE}]")
_PARTS = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.!?]")
_THRICE = re.compile(r"(.)\1{2,}")
_LETTERS = re.compile(r"(?<![^\W_])[^\W_](?:[ .\-*_]{1,3}[^\W_]){4,}(?![^\W_])")
"""Matches a run of single letters. An underscore is only a separator: as a letter too, it would cause backtracking on `____ab`."""
_LETTER = re.compile(r"[^\W_]")
LEET = str.maketrans(
    {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i", "|": "l"}
)
_FOLD = str.maketrans({"ø": "o", "ł": "l", "ß": "ss", "æ": "ae", "đ": "d", "ı": "i"})
_APOSTROPHES = str.maketrans("’‘ʼ`´", "'''''")
_ENDINGS = {
    "n't": ("not",),
    "'m": ("am",),
    "'ve": ("have",),
    "'ll": ("will",),
    "'re": ("are",),
    "'d": ("would",),
    "'s": (),
}
MAX_CACHED, MAX_CACHED_CHARS = 4096, 40
"""Maximum number of text pieces whose tokens are cached, and maximum length of such a piece, in characters."""
_MAX_SPACED_CHARS = 14
"""Maximum number of separate letters that may form one word."""
NUMBER = "0"
"""The token for any number."""
_AMOUNT = re.compile(r"\d+(?:[.\-]\d+)*([a-z]*)")


@dataclass(slots=True)
class SpelledText:
    """A text and its words in corrected spelling."""

    text: str
    """The original text."""
    tokens: list[str]
    """The words in corrected spelling. A sentence ends with the token `.` or `?`; other punctuation is omitted."""
    _speller: "Speller"

    def quote(self, start: int, end: int) -> str:
        """Return the original words for the tokens from index `start` up to `end` (exclusive), verbatim."""
        chunks = [
            chunk
            for chunk in _CHUNK.finditer(self._speller.join_letters(self.text))
            for _ in self._speller.spell(chunk[0])
        ]
        return self.text[chunks[start].start() : chunks[end - 1].end()]


class Speller:
    """Splits texts into tokens and corrects their spelling, with a list of replacements and a list of keywords."""

    def __init__(self, spelling: Mapping[str, str], keywords: Iterable[str]) -> None:
        """Create a speller.

        Args:
            spelling: Maps words to their replacements, such as `gonna` to `going to`.
            keywords: Words to recognise even if one letter is wrong, missing, doubled or swapped.
        """
        self._lexicon: dict[str, tuple[str, ...]] = dict.fromkeys(",\n:()–—", ())
        self._lexicon |= {".": (STOP,), ";": (STOP,), "!": (STOP,), "?": (QUESTION,)}
        for word, meaning in spelling.items():
            self._lexicon[word] = tuple(token for part in meaning.split() for token in self._lexicon.get(part, (part,)))
        self._keyword_by_variant: dict[str, str] = {}
        for word in keywords:
            self._lexicon.setdefault(word, (word,))
            for variant in (word, *_deletions(word)):
                self._keyword_by_variant.setdefault(variant, word)
        self.spell = cache_texts(MAX_CACHED, MAX_CACHED_CHARS)(self._spell_chunks)

    def canonical(self, word: str) -> tuple[str, ...]:
        """Return the tokens of one lower-case word, in corrected spelling. `dont` has two tokens."""
        return self._lexicon.get(word) or (() if word in self._lexicon else self._spell(word))

    def read(self, text: str) -> SpelledText:
        """Return a text with its tokens in corrected spelling. The running time is linear in the length of the text."""
        return SpelledText(text, list(chain.from_iterable(map(self.spell, self.join_letters(text).split()))), self)

    def join_letters(self, text: str) -> str:
        """Join separate letters, as in `k i l l m y s e l f`, with invisible characters, so that offsets stay the same."""
        return _LETTERS.sub(lambda run: self._join_run(run[0]), text)

    def _join_run(self, run: str) -> str:
        """Join the letters of each word in a run of letters. Known words are joined first, then letters between wider gaps."""
        places = [letter.start() for letter in _LETTER.finditer(run)]
        gaps = [after - before for before, after in pairwise(places)]
        narrowest = min(gaps)
        # Letter by letter, because `lower` turns some single letters (İ) into two characters.
        words = self._find_words("".join(run[place].lower()[0] for place in places))
        for (_, start), (end, _) in pairwise([(0, 0), *words, (len(places), len(places))]):
            wider = [n for n in range(start + 1, end) if gaps[n - 1] > narrowest]
            words += [
                (first, last) for first, last in pairwise([start, *wider, end]) if last - first <= _MAX_SPACED_CHARS
            ]
        joined = list(run)
        for first, last in words:
            for before, after in pairwise(places[first:last]):
                joined[before + 1 : after] = "\u00ad" * (after - before - 1)
        return "".join(joined)

    def _find_words(self, letters: str) -> list[tuple[int, int]]:
        """Split letters into as few known words as possible, and return the (start, end) offsets of the words."""
        best = [(0, 0)]  # for each end: the minimum cost up to there, and the start of the last word
        for end in range(1, len(letters) + 1):
            starts = [n for n in range(max(0, end - _MAX_SPACED_CHARS), end - 1) if letters[n:end] in self._lexicon]
            best.append(min([(best[end - 1][0] + 3, end - 1)] + [(best[n][0] + 1, n) for n in starts]))
        words = []
        end = len(letters)
        while end:
            begin = best[end][1]
            words += [(begin, end)] if end - begin > 1 else []
            end = begin
        return words[::-1]

    def _spell_chunks(self, piece: str) -> tuple[str, ...]:
        """Return the tokens of a piece of text without spaces."""
        return tuple(token for chunk in _CHUNK.findall(piece) for token in self.canonical(chunk.lower()))

    def _spell(self, word: str) -> tuple[str, ...]:
        if not word.isascii():
            plain = fold(word)
            if plain != word:
                return self._lexicon[plain] if plain in self._lexicon else self._spell(plain)
        if not word.isalpha():
            return self._spell_odd(word)
        if len(word) > 2 and (thrice := _THRICE.search(word)):
            for repeat in (r"\1\1", r"\1"):
                if (shorter := _THRICE.sub(repeat, word)) in self._lexicon:
                    return self._lexicon[shorter]
            word = _THRICE.sub(r"\1", word) if thrice else word
        if 4 < len(word) < 13:
            if word in self._keyword_by_variant:
                return self._lexicon[self._keyword_by_variant[word]]
            for variant in _deletions(word):
                if variant in self._keyword_by_variant:
                    return self._lexicon[self._keyword_by_variant[variant]]
        return (word,)

    def _spell_odd(self, word: str) -> tuple[str, ...]:
        """Return the tokens of a word that contains digits, apostrophes or other signs."""
        if not word.strip(".!?…"):
            return (QUESTION,) if "?" in word else () if word.startswith(("..", "…")) else (STOP,)
        if amount := _AMOUNT.fullmatch(word):
            return (NUMBER, *self.canonical(amount[1])) if amount[1] else (NUMBER,)
        word = word.translate(_APOSTROPHES).strip("'")
        if word in self._lexicon:
            return self._lexicon[word]
        head, mark, tail = word.rpartition("'")
        if mark and head.isalpha():
            if tail == "t" and head.endswith("n"):
                return (*self.canonical(head[:-1]), "not")
            if f"'{tail}" in _ENDINGS:
                return (*self.canonical(head), *_ENDINGS[f"'{tail}"])
        for guess in (word.translate(LEET), re.sub(r"[^a-z]", "", word)):
            if len(guess) > 2 and guess in self._lexicon:
                return self._lexicon[guess]
        parts = _PARTS.findall(word)
        if parts == [word] or not parts:
            return (word,)
        return tuple(token for part in parts for token in self.canonical(part))


@cache
def load_spelling() -> dict[str, str]:
    """Return the replacements of spelling.txt, by word: abbreviations, typos, and words disguised from filters."""
    lines = files("judges.local").joinpath("spelling.txt").read_text(encoding="utf-8").splitlines()
    return {word: meaning for word, _, meaning in (line.partition(" ") for line in lines if line[0] != "#")}


KEYWORDS = (
    "breathe ending goodbye hanging herself himself hopeless kill killing medication myself overdose overdosed paracetamol seizure "
    "suicidal suicide swallowed tablets tonight unconscious voices worthless"
).split()
"""Words that are recognised even if one letter is wrong, missing, doubled or swapped."""


def fold(word: str) -> str:
    """Return a word in lower case, without invisible characters, accents and width variants."""
    word = unicodedata.normalize("NFKD", _WIPE.sub("", word)).lower().translate(_FOLD)
    return "".join(letter for letter in word if not unicodedata.combining(letter))


def _deletions(word: str) -> Iterable[str]:
    return (word[:n] + word[n + 1 :] for n in range(len(word)))

"""Words as the lexical selection compares them: without stop words, endings, and the spelling of everyday speech.

The stop words are our own, since they are what a health service is asked with ("help", "ill", "look"). With those of the local
judges the ordinary questions of `scenarios/benign` find 24 of 52 sections in place of 21, with scikit-learn's 25, but "I don't
shower anymore" finds none. Snowball's stemmer finds the 21 that our own found before.
"""

import re
from functools import cache, lru_cache
from typing import Any

import snowballstemmer

_WORD = re.compile(r"[^\W_]{1,40}(?:['’][^\W_]{1,10})?")
_STOP_WORDS = """
    a about after afternoon again all also am an and another answers any anybody anyone anything are aren't as ask at
    back be because been before being best but by call can can't cannot choose come could couldn't day did didn't do
    does doesn't doing don't each else evening ever every everyone everything explain few first for from get gets
    getting give go goes going good got had has have having he he'd he's hello help helped helpful helping helps her
    here hers hey hi him his how i i'd i'll i'm i've if ill illness in into is isn't it it's its just keep kind know
    least less let let's like little live look lot lots made make makes many may maybe me mean means might more
    morning most much must my myself need never new no not now of off often ok okay on once one only or other our out
    over own people perhaps person please put question questions quite rather really right said same say says see seem
    she she'd she's should shouldn't show so some somebody someone something still such sure take takes taking tell
    than thank thanks that that's the their them then there there's these they they're thing things think this those
    though through to today together too try u under until up us use used useful using usually very want wants was
    wasn't way we well were weren't what what's whatever when where whether which while who who's whom whose will with
    within without won't wonder would wouldn't yes yet you you'd you're you've your yours yourself
"""
_STOP = frozenset(_STOP_WORDS.split())

_PLAIN = {
    "meds": "medicine", "med": "medicine", "medication": "medicine", "pill": "medicine", "tablet": "medicine",
    "doc": "doctor", "mum": "mother", "mom": "mother", "dad": "father", "kid": "child", "children": "child",
    "men": "man", "women": "woman", "female": "woman", "male": "man", "girl": "woman", "guy": "man",
    "weed": "cannabis", "marijuana": "cannabis", "pot": "cannabis", "beer": "alcohol", "wine": "alcohol",
    "booze": "alcohol", "drunk": "alcohol", "cigarette": "smoke", "tobacco": "smoke", "vape": "smoke",
    "job": "work", "boss": "employer", "uni": "university", "college": "university", "mate": "friend",
    "buddy": "friend", "believe": "belief", "noise": "noisy", "lonely": "loneliness", "sad": "sadness",
    "hereditary": "inherit", "genetic": "gene", "jab": "injection", "fat": "weight", "schizo": "schizophrenia",
    "suicidal": "suicide", "wash": "shower", "shrink": "psychiatrist", "anxious": "anxiety", "scared": "afraid",
    "therapist": "therapy", "bf": "boyfriend", "gf": "girlfriend", "ashamed": "shame", "pregnant": "pregnancy",
}  # fmt: skip
"""Everyday words, and the words that health texts have for them."""


def terms(text: str) -> list[str]:
    """Return the stems of the words of a text that say what it is about."""
    return list(filter(None, map(_term, _WORD.findall(text.lower()))))


@lru_cache(maxsize=5_000)
def _term(word: str) -> str:
    """Return the stem of a word, which has one letter at least; nothing of a stop word."""
    if word.replace("’", "'") in _STOP:
        return ""
    stem = stem_word(word.removesuffix("'s").removesuffix("’s"))
    return _plain().get(stem, stem)


@cache
def _plain() -> dict[str, str]:
    """Return the stems of everyday words, and of those that health texts have for them."""
    return {stem_word(word): stem_word(plain) for word, plain in _PLAIN.items()}


def stem_word(word: str) -> str:
    """Return the stem of a lower-case English word, by Porter's second algorithm."""
    stem: str = _stemmer().stemWord(word)
    return stem


@cache
def _stemmer() -> Any:
    return snowballstemmer.stemmer("english")

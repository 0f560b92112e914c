"""Marks of messages that mention danger, to recognise them in a program's quotes. Pure.

A mark consists of the number of a message's words, a hash of the first words, and a hash of all. It belongs to one key and user.
"""

import hashlib
import re
from collections.abc import Iterable
from itertools import islice

import orjson

MAX_MARKS = 32
"""Maximum number of marks of one key and user; the newest are kept."""
MAX_WORDS = 500
"""Maximum words of a message with a mark."""
HEAD_WORDS = 4
"""Number of first words whose hash finds the places where a message may begin."""
MAX_PLACES = 20
"""Maximum number of such places checked in a text, for each mark."""
_WORD = re.compile(r"\w+")


def writer_key(key_id: str, user: str) -> bytes:
    """Return the storage key of one user's marks."""
    return hashlib.blake2b(orjson.dumps(["heard", key_id, user]), digest_size=16).digest()


def mark_message(writer: bytes, text: str) -> str | None:
    """Return the mark of a message; None: no words, or more than MAX_WORDS."""
    words = [word.casefold() for word in islice(_WORD.findall(text), MAX_WORDS + 1)]
    if not 0 < len(words) <= MAX_WORDS:
        return None
    return f"{len(words)}:{_hash(writer, words[:HEAD_WORDS])}:{_hash(writer, words)}"


def blank_marked(writer: bytes, text: str, marks: Iterable[str]) -> str:
    """Return a text with the marked messages that it quotes word for word replaced by spaces."""
    places = [word.span() for word in _WORD.finditer(text)]
    words = [text[start:end].casefold() for start, end in places]
    heads: dict[int, list[str]] = {}
    for mark in marks:
        count, head, whole = mark.split(":")
        size, head_size = int(count), min(int(count), HEAD_WORDS)
        if head_size not in heads:
            heads[head_size] = [_hash(writer, words[at : at + head_size]) for at in range(len(words))]
        begins = (at for at, one in enumerate(heads[head_size]) if one == head)
        for at in islice(begins, MAX_PLACES):
            if _hash(writer, words[at : at + size]) == whole:
                start, end = places[at][0], places[min(at + size, len(words)) - 1][1]
                text = text[:start] + " " * (end - start) + text[end:]
    return text


def _hash(writer: bytes, words: Iterable[str]) -> str:
    return hashlib.blake2b(" ".join(words).encode("utf-8", "replace"), key=writer, digest_size=8).hexdigest()

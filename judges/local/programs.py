"""Is a user message written by a program: a prompt for retrieval, a title or follow-ups, an error that asks for another try?

And what does it quote of people's words?
"""

import re
from collections.abc import Iterator
from itertools import chain, islice

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
"""Marks from which a text is a program's; people write one of them, too."""
MAX_CHARS = 20_000
"""Characters at the beginning and at the end that are looked at."""


def is_program(text: str) -> bool:
    """Tell whether a text looks like a program's, in which a person's words may be quoted."""
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
"""What stands behind a name, and within a tag."""
MAX_QUOTES = 50
"""Quotes of a program that are read."""


def quoted_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a program's text quotes what a person may have written: the words around it are about other things."""
    return islice((quote.span(1) for quote in chain(*(pattern.finditer(text) for pattern in _QUOTED))), MAX_QUOTES)


def is_retry(text: str) -> bool:
    """Tell whether a program wrote a text that could not read the last reply and wants another: nobody has said anything new."""
    return len(text) <= MAX_CHARS and _RETRY.search(text) is not None

"""Word salad: a message whose words are English and whose order is not.

No grammar is parsed. Some neighbours never meet in a sentence, however badly typed: `of the because`, `my under`, `is the
and`. One such pair is a slip of the thumb; several in one message are a sign that its writer is not well.
"""

import re

_ARTICLES = "the|a|an|my|your|his|their|our"
_NO_NOUNS = "the|a|an|of|is|was|are|were|and|in|under|to|because|it|me|from|with|for|or|my|your|they|if|but|into|at"
_DANGLING = "of|under|with|from|into|and|because|the"
_NOT_NEXT = "of|is|was|are|were|or|and|but|walk|sing|because|under"
_IMPOSSIBLE = re.compile(
    rf"\b(?:(?:{_ARTICLES}) (?:{_NO_NOUNS})|(?:{_DANGLING}) (?:{_NOT_NEXT})|(\w{{2,}}) \1(?= \w))\b", re.IGNORECASE
)
_ALLOWED = re.compile(r"(?:the (?:to|in|if|for|at) |a (?:to|in|or|at)\b|and (?:or|because|under|if|is|are|was)\b|(?:that|had|very|so|no|really|bye|ha) \w|because of)", re.I)
_LEAST_PAIRS = 3
_LEAST_SHARE = 0.12
_LEAST_WORDS = 8


def found_in(text: str) -> str | None:
    """Return the words, verbatim, between the first and the last impossible pair of a message that is word salad."""
    pairs = [match for match in _IMPOSSIBLE.finditer(text) if not _ALLOWED.match(match[0])]
    if len(pairs) < _LEAST_PAIRS:
        return None
    words = len(text.split())
    if words < _LEAST_WORDS or len(pairs) < _LEAST_SHARE * words:
        return None
    return text[pairs[0].start() : pairs[-1].end()]

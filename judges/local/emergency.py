"""The local emergency judge: whether the newest user message shows present danger, and the confidence.

explicit.py    Reviewed patterns in eight languages. A match is an emergency.
classifier.py  Learned weights over the whole message and over each sentence alone, since a later question does not retract a
               statement. A high margin is an emergency, a lower one a concern. If the margin is far below 0, explicit words
               are only a concern. After an earlier message that showed danger, words for means, method or farewell count as
               well; the earlier message itself does not count again.
languages.py   Text by programs. The classifier does not weigh it; only explicit words count, in it and in its quotes. If a
               program only asks for a retry, the person's last message is read instead.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Literal, cast

from judges import languages
from judges.case import EARLIER_TURNS, Case
from judges.local import classifier, explicit
from judges.local.classifier import Window
from judges.local.spelling import KEYWORDS, SpelledText, Speller, load_spelling
from judges.observation import Crisis, CrisisKind, Sign
from judges.text import fold_look_alikes

EMERGENCY_MARGIN, CONCERN_MARGIN, CONCERN_MARGIN_AFTER_CRISIS = 2.3, -0.1, -1.1
"""Minimum margins of the classifier for an emergency, for a concern, and for a concern after an earlier crisis. README.md explains
how they were chosen."""
DOUBT_MARGIN = -1.0
"""Margin of the classifier below which explicit words are only a concern."""
CONCERN_SCORE = 0.4
"""Score of a concern that does not come from a margin."""
PAIR_PENALTY, CLAUSE_PENALTY = 1.0, 1.0
"""Penalties on the margins of a pair of sentences and of a clause that are weighed alone. The text around them may show a figure of
speech."""
QUESTION_WORDS = frozenset(
    "what how why which where who when can could is are do does did should will would".split()  # as the speller knows them
)
"""Words that begin a question, also without an end mark before it."""
USER_PRONOUNS = frozenset({"i", "me", "my", "myself", "mine"})
OTHER_PEOPLE = frozenset(
    "he him his she her they them son daughter brother sister mother mum mom father dad husband wife partner friend "
    "flatmate roommate neighbour neighbor uncle aunt cousin child baby boyfriend girlfriend nan gran grandma grandad".split()
)

_PARAGRAPH_END = re.compile(r"(?<![\s.!?;…])[^\S\n]*\n(?:\s*\n\s*|\s*(?=[A-ZÀ-ÞА-Я¿¡]))")
_NO_SIGN = Crisis(signs=[])
_TAG = re.compile(r"</?[A-Za-z][\w:-]{0,30}(?:\s[^<>]{0,300})?/?>")
"""Markup. Names of tags are not the person's words, but `script` and `title` would suggest stories and films."""
_MARKUP_SIGNS = str.maketrans('<>"=/', ".....")
Seen = tuple[tuple[str, int, int] | None, float]
"""The kind of danger with start and end of the words for it, or None; and the score for an emergency, 0 to 1."""


def observe(case: Case) -> tuple[Crisis, float]:
    """Look for danger in the newest user message, in the light of the earlier ones.

    Returns:
        At most one sign, and the score for an emergency, 0 to 1. From 0.5 a sign is an emergency, below that a concern.

    Raises:
        Unreadable: Nothing was found, and the message is neither English nor in the chatbot's language. In the chatbot's
            language only the patterns are read; README.md lists how much they find.
    """
    text, before = _newest_message(case)
    plain = fold_look_alikes(text)
    is_program = languages.is_program(plain)
    readings = dict.fromkeys(_TAG.sub(write, plain) for write in (_blank, _part))
    seen = [_observe_reading(one, before, is_program) for one in readings]
    places, score = max([*seen, *_observe_quotes(plain)] if is_program else seen, key=_strength)
    if places is not None:
        kind, start, end = places
        return _sign(kind, text[start:end], text), score
    if not is_program:
        _check_readable(text, case.language)
    return _NO_SIGN, score


def _check_readable(text: str, language: str) -> None:
    """Check that a message is English, or in the chatbot's language if that has patterns. Raises: Unreadable."""
    try:
        languages.check_readable(text)
    except languages.Unreadable:
        if language == "en" or language not in explicit.LANGUAGES:
            raise
        languages.check_readable(text, language)


def _strength(seen: Seen) -> tuple[bool, float]:
    return seen[0] is not None, seen[1]


def _observe_quotes(text: str) -> Iterator[Seen]:
    """Yield explicit words of danger in the quotes of a program, unless the classifier's margin contradicts them.

    Each quote is read alone, because the words of the program hide danger: a prompt has a history, guidelines, a title.
    """
    for start, end in languages.quoted_words(text):
        quote = text[start:end]
        match = explicit.find_danger(quote)
        if match is not None and not match.is_hint:
            _, window = _weigh_message(quote)
            if window is not None and window.margin >= DOUBT_MARGIN:
                yield (match.kind, start + match.start, start + match.end), 1.0


def _blank(tag: re.Match[str]) -> str:
    """Replace markup by spaces of the same length, so that positions in a reading are positions in the message."""
    return " " * len(tag[0])


def _part(tag: re.Match[str]) -> str:
    """Write markup as sentences, because the text between angle brackets or in an attribute may be the whole message."""
    return tag[0].translate(_MARKUP_SIGNS)


def _observe_reading(text: str, before: Sequence[str], is_program: bool) -> Seen:
    """Look for danger in one reading of the newest message: without its markup, or with the words of the markup."""
    match = explicit.find_danger(text)
    message, window = _weigh_message(text)
    hint = match if match is not None and match.is_hint and not is_program else None
    if match is not None and not match.is_hint:
        is_doubtful = not is_program and window is not None and window.margin < DOUBT_MARGIN
        return (match.kind, match.start, match.end), CONCERN_SCORE if is_doubtful else 1.0
    if window is None or is_program:
        return None, 0.0
    model = classifier.load("emergency")
    words = message.tokens[window.start : window.end]
    window_to_quote, score = window, classifier.to_score(window.margin - EMERGENCY_MARGIN)
    kind: str | None = None
    if window.margin > CONCERN_MARGIN:
        kind = model.kind_of(words)
        window_to_quote = max(model.strong_sentences(message.tokens, window), key=lambda sentence: sentence.margin)
    if (
        window.margin <= EMERGENCY_MARGIN
        and (after_crisis := _check_aftermath(before, message.tokens, window)) is not None
    ):
        kind, window_to_quote, score = after_crisis
    if kind is None and hint is not None:
        return (hint.kind, hint.start, hint.end), CONCERN_SCORE
    if kind is None:
        return None, score
    quote = message.quote(window_to_quote.start, window_to_quote.end)
    quote = quote if quote in text else quote.removesuffix(".")  # a full stop that ends a line
    start = max(0, text.find(quote))
    return (kind, start, start + len(quote)), score


def _newest_message(case: Case) -> tuple[str, list[str]]:
    """Return the person's last message, and the messages before it, without a program's requests for a retry."""
    messages = [*(one.text for one in case.history if one.speaker == "user"), case.user_message]
    while len(messages) > 1 and languages.is_retry(messages[-1]):
        messages.pop()
    return messages[-1], messages[:-1][-EARLIER_TURNS:]


def _sign(kind: str, quote: str, text: str) -> Crisis:
    words = speller().read(text if len(text) < len(quote) + 200 else quote).tokens
    return Crisis(signs=[Sign(kind=cast(CrisisKind, kind), quote=quote, who=_whose_danger(words), when="now")])


def tokenize(text: str) -> list[str]:
    """Return the tokens of a message for the classifier."""
    return speller().read(_PARAGRAPH_END.sub(".\n", text)).tokens


def _weigh_message(text: str) -> tuple[SpelledText, Window | None]:
    """Spell a message, and return its window with the highest margin; None if it has no words.

    A sentence also ends at the end of a paragraph, and at a line break before a capital: people use these for a full stop.
    """
    message = speller().read(_PARAGRAPH_END.sub(".\n", text))
    return message, strongest_window(message.tokens) if message.tokens else None


@cache
def speller() -> Speller:
    return Speller(load_spelling(), KEYWORDS)


def strongest_window(words: Sequence[str]) -> Window:
    """Return the window of a message with the highest margin. A margin above 0 indicates danger.

    Each sentence, each pair of sentences and each clause is also weighed alone. Otherwise, in "I am suicidal. What are
    antipsychotics?", the question would outweigh the statement.
    """
    return max(
        [classifier.load("emergency").strongest_window(words), *_weigh_parts(words)],
        key=attrgetter("margin"),
    )


def _weigh_parts(words: Sequence[str]) -> list[Window]:
    """Weigh each sentence alone, and each pair of sentences and each clause minus its penalty."""
    edges = classifier.sentence_edges(words)
    penalties = dict.fromkeys(pairwise(_clause_edges(words)), CLAUSE_PENALTY)
    penalties |= dict.fromkeys(zip(edges, edges[2:], strict=False), PAIR_PENALTY)
    penalties |= dict.fromkeys(pairwise(edges), 0.0)
    windows = classifier.load("emergency").weigh_spans(words, [*penalties])
    for window, penalty in zip(windows, penalties.values(), strict=True):
        window.margin -= penalty
    return windows


def _clause_edges(words: Sequence[str]) -> list[int]:
    """Return the starts of sentences, of questions after a statement, and of statements after a question; and the last end."""
    edges = [0]
    for position, word in enumerate(words[1:], start=1):
        length = position - edges[-1]
        asks = word in QUESTION_WORDS and length > 1
        states = word == "i" and length > 2 and words[edges[-1]] in QUESTION_WORDS
        if asks or states or words[position - 1] in classifier.ENDS or length == classifier.WINDOW:
            edges.append(position)
    return [*edges, len(words)]


def _check_aftermath(earlier: Sequence[str], words: Sequence[str], window: Window) -> tuple[str, Window, float] | None:
    """Return the kind of danger in an earlier message, the window of the newest message that continues it, and the score.

    Args:
        earlier: The user's earlier messages, oldest first.
        words: The newest message.
        window: Its window with the highest margin, which may be enough for a concern.
    """
    shows_intent = explicit.shows_intent(words)
    if not earlier or not (shows_intent or window.margin > CONCERN_MARGIN_AFTER_CRISIS):
        return None
    kind = next((kind for text in reversed(earlier) if (kind := _danger_kind(text)) is not None), None)
    if kind is None:
        return None
    if not shows_intent:
        return kind, window, CONCERN_SCORE
    spans = pairwise(classifier.sentence_edges(words))
    span = next((span for span in spans if explicit.shows_intent(words[slice(*span)])), (0, len(words)))
    return kind, Window(0.0, *span), 1.0


def _danger_kind(text: str) -> str | None:
    """Return the kind of danger in a message, certain or not."""
    text = fold_look_alikes(text)
    if (match := explicit.find_danger(text)) is not None:
        return match.kind
    message, window = _weigh_message(text)
    if window is None or window.margin <= CONCERN_MARGIN:
        return None
    return classifier.load("emergency").kind_of(message.tokens[window.start : window.end])


def _whose_danger(words: Sequence[str]) -> Literal["user", "someone_else"]:
    """Return whose danger it is, by the first person mentioned."""
    first = next((word for word in words if word in USER_PRONOUNS or word in OTHER_PEOPLE), "i")
    return "user" if first in USER_PRONOUNS else "someone_else"

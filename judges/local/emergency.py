"""The local emergency judge: decides whether the newest user message shows present danger.

The judge combines three modules:

explicit.py    Reviewed patterns in eight languages. A match is an emergency, unless the classifier's margin is far below 0:
               then the match is only a concern.
classifier.py  Learned weights. The whole message and each sentence are weighed, because a later question does not retract a
               statement. A high margin is an emergency, a lower margin a concern. After an earlier message that showed
               danger, words for means, method or farewell also count.
languages.py   Detects text that a program wrote. In such text, only explicit words count, also within quotes. If a program
               only asks for a retry, the judge reads the person's last message instead.
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
"""Minimum margins of the classifier for an emergency, for a concern, and for a concern after an earlier crisis. README.md says
how the margins were chosen."""
DOUBT_MARGIN = -1.0
"""Minimum margin of the classifier for which explicit words are an emergency. Below it, they are a concern."""
CONCERN_SCORE = 0.4
"""Score (0 to 1) of a concern that the classifier's margin does not determine."""
PAIR_PENALTY, CLAUSE_PENALTY = 1.0, 1.0
"""Penalties that are subtracted from the margins of a pair of sentences and of a clause. The rest of the message, which is not
weighed with them, may show that they are a figure of speech."""
QUESTION_WORDS = frozenset(
    "what how why which where who when can could is are do does did should will would".split()  # as the speller knows them
)
"""Words that begin a question, even after a statement without an end mark."""
USER_PRONOUNS = frozenset({"i", "me", "my", "myself", "mine"})
OTHER_PEOPLE = frozenset(
    "he him his she her they them son daughter brother sister mother mum mom father dad husband wife partner friend "
    "flatmate roommate neighbour neighbor uncle aunt cousin child baby boyfriend girlfriend nan gran grandma grandad".split()
)

_PARAGRAPH_END = re.compile(r"(?<![\s.!?;…])[^\S\n]*\n(?:\s*\n\s*|\s*(?=[A-ZÀ-ÞА-Я¿¡]))")
_NO_SIGN = Crisis(signs=[])
_TAG = re.compile(r"</?[A-Za-z][\w:-]{0,30}(?:\s[^<>]{0,300})?/?>")
"""Matches markup. Names of tags such as `script` and `title` are not the person's words, and would suggest stories and films."""
_MARKUP_SIGNS = str.maketrans('<>"=/', ".....")
Seen = tuple[tuple[str, int, int] | None, float]
"""(danger, score): danger is (kind, start, end), with offsets of its words in the text, or None; the score is 0 to 1."""


def observe(case: Case) -> tuple[Crisis, float]:
    """Look for danger in the newest user message. Earlier messages that show danger lower the thresholds.

    Returns:
        A form with at most one sign, and the score for an emergency, 0 to 1. With a score of at least 0.5, the sign is an
        emergency, otherwise a concern.

    Raises:
        Unreadable: No danger was found, and the message is neither English nor in the chatbot's language. In the chatbot's
            language, the judge uses only patterns; README.md lists how many emergencies they find.
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
    """Check that a message is in English, or in the chatbot's language if there are patterns for this language.

    Raises:
        Unreadable: The message is in another language, or obfuscated.
    """
    try:
        languages.check_readable(text)
    except languages.Unreadable:
        if language == "en" or language not in explicit.LANGUAGES:
            raise
        languages.check_readable(text, language)


def _strength(seen: Seen) -> tuple[bool, float]:
    return seen[0] is not None, seen[1]


def _observe_quotes(text: str) -> Iterator[Seen]:
    """Yield the explicit words of danger in the quotes of a program's message. They are a person's words.

    Each quote is judged separately, because the program's own words (history, guidelines, a title) would hide danger. A quote
    with a margin below `DOUBT_MARGIN` is skipped.
    """
    for start, end in languages.quoted_words(text):
        quote = text[start:end]
        match = explicit.find_danger(quote)
        if match is not None and not match.is_hint:
            _, window = _weigh_message(quote)
            if window is not None and window.margin >= DOUBT_MARGIN:
                yield (match.kind, start + match.start, start + match.end), 1.0


def _blank(tag: re.Match[str]) -> str:
    """Replace a tag with spaces of the same length, so that offsets in the result are offsets in the message."""
    return " " * len(tag[0])


def _part(tag: re.Match[str]) -> str:
    """Rewrite a tag as plain sentences, because a tag or its attributes may contain the person's whole message."""
    return tag[0].translate(_MARKUP_SIGNS)


def _observe_reading(text: str, before: Sequence[str], is_program: bool) -> Seen:
    """Look for danger in one version of the newest message: without its markup, or with its markup as plain words.

    Args:
        text: This version of the message.
        before: The user's earlier messages, oldest first.
        is_program: Whether a program wrote the message.
    """
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
    """Return the person's newest message and the messages before it, oldest first. Requests for a retry are dropped."""
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
    """Correct the spelling of a message, and return it with its strongest window; the window is None without words.

    A paragraph end, and a line break before a capital letter, also end a sentence: people omit full stops there.
    """
    message = speller().read(_PARAGRAPH_END.sub(".\n", text))
    return message, strongest_window(message.tokens) if message.tokens else None


@cache
def speller() -> Speller:
    return Speller(load_spelling(), KEYWORDS)


def strongest_window(words: Sequence[str]) -> Window:
    """Return the part of a message with the highest margin. A margin above 0 indicates danger.

    Each sentence, each pair of sentences and each clause is also weighed alone. Otherwise, in "I am suicidal. What are
    antipsychotics?", the question would outweigh the statement.
    """
    return max(
        [classifier.load("emergency").strongest_window(words), *_weigh_parts(words)],
        key=attrgetter("margin"),
    )


def _weigh_parts(words: Sequence[str]) -> list[Window]:
    """Return the margins of all sentences, pairs of sentences and clauses. Penalties are subtracted from pairs and clauses."""
    edges = classifier.sentence_edges(words)
    penalties = dict.fromkeys(pairwise(_clause_edges(words)), CLAUSE_PENALTY)
    penalties |= dict.fromkeys(zip(edges, edges[2:], strict=False), PAIR_PENALTY)
    penalties |= dict.fromkeys(pairwise(edges), 0.0)
    windows = classifier.load("emergency").weigh_spans(words, [*penalties])
    for window, penalty in zip(windows, penalties.values(), strict=True):
        window.margin -= penalty
    return windows


def _clause_edges(words: Sequence[str]) -> list[int]:
    """Return the indices at which clauses start, followed by the number of words.

    A clause starts after an end mark, at a question after a statement, and at a statement after a question.
    """
    edges = [0]
    for position, word in enumerate(words[1:], start=1):
        length = position - edges[-1]
        asks = word in QUESTION_WORDS and length > 1
        states = word == "i" and length > 2 and words[edges[-1]] in QUESTION_WORDS
        if asks or states or words[position - 1] in classifier.ENDS or length == classifier.WINDOW:
            edges.append(position)
    return [*edges, len(words)]


def _check_aftermath(earlier: Sequence[str], words: Sequence[str], window: Window) -> tuple[str, Window, float] | None:
    """Look for words in the newest message that continue the danger of an earlier message.

    Args:
        earlier: The user's earlier messages, oldest first.
        words: The tokens of the newest message.
        window: The strongest window of the newest message, which may suffice for a concern.

    Returns:
        The kind of danger in the earlier message, the window of the newest message that continues it, and the score (0 to 1);
        None if no earlier message shows danger, or the newest message does not continue it.
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
    """Return the kind of danger that a message shows, even if only as a concern; None without danger."""
    text = fold_look_alikes(text)
    if (match := explicit.find_danger(text)) is not None:
        return match.kind
    message, window = _weigh_message(text)
    if window is None or window.margin <= CONCERN_MARGIN:
        return None
    return classifier.load("emergency").kind_of(message.tokens[window.start : window.end])


def _whose_danger(words: Sequence[str]) -> Literal["user", "someone_else"]:
    """Return who is in danger: the first person that the words mention, or the user if they mention nobody."""
    first = next((word for word in words if word in USER_PRONOUNS or word in OTHER_PEOPLE), "i")
    return "user" if first in USER_PRONOUNS else "someone_else"

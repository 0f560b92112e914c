"""Defines `Case`, the input of every judge, selects the judges for a reply, and moves the work on long texts to a thread."""

import asyncio
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, takewhile
from typing import Any, Literal, TypeVar, TypeVarTuple

import orjson

from knowledge_base.library import Source


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """One earlier message of the conversation."""

    speaker: Literal["user", "assistant"]
    text: str
    verified: bool = True
    """False for an assistant message that this proxy has no record of: the client may have invented it."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A sensitive topic of a chatbot. A reply that improvises on a sensitive topic is rejected, even with disclaimers."""

    name: str
    terms: tuple[str, ...] = ()
    """Words and phrases that touch the topic, in addition to the built-in terms of `judges.topics` for `name`."""


@dataclass(frozen=True)
class Case:
    """The input of a judge: one reply or user message with its context. A judge sees no key, configuration or other chat."""

    user_message: str
    """Every user message since the last reply, one paragraph each."""
    draft: str = ""
    """The reply to judge, without citation commands; empty for judges of the user's message."""
    history: tuple[HistoryMessage, ...] = ()
    """Earlier messages, oldest first."""
    cited: tuple[Source, ...] = ()
    uncited: tuple[Source, ...] = ()
    """Sources that the chatbot saw but did not cite. Uncited sections support the reply; uncited documents do not."""
    by_own_words: frozenset[str] = frozenset()
    """Ids of sources that only a search for the reply's own words found. Such sources resemble any reply, so a judge that
    compares words ignores these sources on a sensitive topic."""
    screens_uncited: bool = True
    """Whether the screening call also sees the uncited sources, which costs tokens in every turn. The chief always sees them."""
    role: str = ""
    """The purpose of the chatbot, in one or two sentences."""
    topics: tuple[Topic, ...] = ()
    emergency_kinds: frozenset[str] | None = None
    """The kinds of emergency that count for this chatbot (values of `observation.CrisisKind`); None: all kinds."""
    language: str = "en"
    """ISO 639-1 code of the chatbot's language. Local judges read this language, if their rules cover it, and English."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources, cited or not: sections by id, then documents by id. The fixed order lets prompts share a prefix."""
        return tuple(sorted((*self.cited, *self.uncited), key=lambda one: (one.is_document, one.id)))

    @property
    def supporting(self) -> tuple[Source, ...]:
        """Sources that may support the reply: all sections, and the cited documents. A client may have invented a document."""
        return tuple(one for one in self.sources if not one.is_document or one in self.cited)

    def for_screening(self) -> "Case":
        """Return the case for the screening call: without uncited sources unless `screens_uncited` is set."""
        return self if self.screens_uncited or not self.uncited else replace(self, uncited=())

    def __hash__(self) -> int:
        """Hash only the user's message and the draft. Hashing sources and history takes longer than the cache lookups save."""
        return hash((self.user_message, self.draft))

    def as_json(self) -> str:
        """Encode the case as one JSON object, the user message of a judge's prompt. JSON separates judged text from instructions.

        Fields that stay the same between turns come first, because providers cache the prefix of a request.
        """
        data: dict[str, Any] = {
            "chatbot_role": self.role,
        }
        if self.draft:
            data["sensitive_topics"] = [t.name for t in self.topics]
            data["sources"] = [{"id": one.id, "title": one.title, "text": one.text} for one in self.sources]
        data["history"] = [
            {"speaker": s.speaker, "text": s.text} | ({} if s.verified else {"unverified": True}) for s in self.history
        ]
        data["user_message"] = self.user_message
        if self.draft:
            data["reply"] = self.draft
        return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


EARLIER_TURNS = 3
"""Number of earlier user messages that the emergency judge reads, in addition to the newest message."""


def emergency_case(user_message: str, earlier: Sequence[str]) -> Case:
    """Return the case for the emergency judge, which reads only user messages: the newest and the last `EARLIER_TURNS` before."""
    return Case(user_message, history=tuple(HistoryMessage("user", text) for text in earlier[-EARLIER_TURNS:]))


# Modes: which judges a reply needs, by its citations

Mode = Literal["source", "default"]

BUILT_IN: Mapping[str, frozenset[Mode]] = {
    "source_fidelity": frozenset({"source"}),
    "transparency": frozenset({"default"}),
    "role": frozenset({"source", "default"}),
}
"""The built-in judges of replies, and the modes in which each judge is asked. Built-in judges can share one model call."""


def modes_of(case: Case, classes: Collection[str]) -> frozenset[Mode]:
    """Return the modes of a reply, which select its judges.

    `source` applies if the reply cites a source, and `default` if it cites none or also cites a class such as
    `not_in_sources`. The judges of `default` also run if a judge sees an assertion that the cited sources do not support
    (`Pipeline.review`). Citing a section therefore does not bypass these judges.

    Args:
        case: The reply with its cited sources.
        classes: The citation classes that the reply cites.
    """
    if not case.cited:
        return frozenset({"default"})
    return frozenset({"source", "default"}) if classes else frozenset({"source"})


# Long texts are read in a thread, so that they do not block the event loop. Short texts are read directly: a short cry for
# help must not wait for another user's long text.

LONG_REPLY = 4_000
"""Maximum size of a case with a reply that is judged directly, in characters (`is_long`). Local judges take about 20 ms for it."""
LONG_MESSAGE = 1_500
"""Maximum length of user messages that are judged directly, in characters. The emergency judge takes about 20 ms for it."""
MAX_NFKD_EXPANSION = 18
"""Maximum number of characters that NFKD normalisation makes of one character (U+FDFA)."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def run_in_thread_if_long(case: Case, function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function that judges a case: in a worker thread if the case is long (`is_long`), else directly."""
    return await run_in_thread_if(is_long(case), function, *args)


async def run_in_thread_if(is_long: bool, function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function: in a worker thread if `is_long`, else directly."""
    if not is_long:
        return function(*args)
    return await asyncio.get_running_loop().run_in_executor(_thread(), copy_context().run, function, *args)


def is_long(case: Case) -> bool:
    """Return whether judging a case takes so long that it must run in a thread.

    With a reply, the sum of these lengths is compared with `LONG_REPLY`: the reply, the user's message, the documents, and a
    quarter of the earlier user messages, of which only numbers are read. Sections do not count, because they are short and
    cached. Without a reply, the sum of all user messages is compared with `LONG_MESSAGE`.
    """
    if case.draft:
        documents = sum(_normalised_length(source.text) for source in case.sources if source.is_document)
        history = sum(_normalised_length(message.text) for message in case.history if message.speaker == "user")
        texts = _normalised_length(case.user_message) + _normalised_length(case.draft)
        return texts + documents + history // 4 > LONG_REPLY
    return sum(map(_normalised_length, (case.user_message, *(message.text for message in case.history)))) > LONG_MESSAGE


def shorten(text: str, max_chars: int, *, keep_end: bool = False) -> str:
    """Return the longest prefix of a text that has at most `max_chars` characters after normalisation.

    Args:
        keep_end: Return the longest suffix instead.
    """
    if len(text) > max_chars:
        text = text[len(text) - max_chars :] if keep_end else text[:max_chars]
    if text.isascii() or len(text) * MAX_NFKD_EXPANSION <= max_chars:
        return text
    sizes = {character: len(unicodedata.normalize("NFKD", character)) for character in set(text)}
    lengths = accumulate(map(sizes.__getitem__, reversed(text) if keep_end else text))
    count = sum(1 for _ in takewhile(max_chars.__ge__, lengths))
    return text[len(text) - count :] if keep_end else text[:count]


def _normalised_length(text: str) -> int:
    """Return the length of a text after NFKD normalisation; for a text longer than LONG_REPLY, the length before."""
    if text.isascii() or len(text) > LONG_REPLY:
        return len(text)
    return len(unicodedata.normalize("NFKD", text)) if len(text) * MAX_NFKD_EXPANSION > LONG_REPLY else len(text)


@cache
def _thread() -> ThreadPoolExecutor:
    """Return the worker thread for long texts. One thread, because more would take the GIL from the event loop too often."""
    return ThreadPoolExecutor(1, thread_name_prefix="judge")

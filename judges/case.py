"""A case: all that a judge may see of one reply. Also: which judges a reply needs, and how long texts are read in a thread."""

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
    """A sensitive topic. Improvised content on it is rejected, even with disclaimers."""

    name: str
    terms: tuple[str, ...] = ()
    """Words and phrases that touch the topic, in addition to those of `judges.topics` for `name`."""


@dataclass(frozen=True)
class Case:
    """The input of a judge. Judges get nothing else: no key, no other conversation, no configuration."""

    user_message: str
    """Every user message since the last reply, one paragraph each."""
    draft: str = ""
    """The reply to judge, without command syntax; empty for judges of the user's message."""
    history: tuple[HistoryMessage, ...] = ()
    """Earlier messages, oldest first."""
    cited: tuple[Source, ...] = ()
    uncited: tuple[Source, ...] = ()
    """Other sources in view. Sections among them support the reply just like cited ones."""
    by_own_words: frozenset[str] = frozenset()
    """Ids of sources that were found only by the reply's own words. They resemble any reply, so a judge that compares words
    ignores them on a sensitive topic."""
    screens_uncited: bool = True
    """Whether the screening call also sees the uncited sources. If not, only the chief does: they cost tokens in every turn."""
    role: str = ""
    """The purpose of the chatbot, in one or two sentences."""
    topics: tuple[Topic, ...] = ()
    emergency_kinds: frozenset[str] | None = None
    """The kinds of emergency that count for this chatbot; None: all."""
    language: str = "en"
    """Code of the chatbot's language. Local judges read it in addition to English, as far as their rules cover it."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources in view. Sections come in a fixed order and documents last, so that prompts share a prefix."""
        return tuple(sorted((*self.cited, *self.uncited), key=lambda one: (one.is_document, one.id)))

    @property
    def supporting(self) -> tuple[Source, ...]:
        """Sources that may support a statement of the reply. A document must be cited, because the client may have invented it."""
        return tuple(one for one in self.sources if not one.is_document or one in self.cited)

    def for_screening(self) -> "Case":
        """Return the case as the screening call sees it."""
        return self if self.screens_uncited or not self.uncited else replace(self, uncited=())

    def __hash__(self) -> int:
        """Hash only the texts that rarely repeat. Hashing sources and history would take longer than all lookups by a case."""
        return hash((self.user_message, self.draft))

    def as_json(self) -> str:
        """Encode the case for a model: one JSON object, so that judged text cannot pass for instructions.

        Fields that stay the same between turns come first, because providers cache the beginnings of requests.
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
"""Number of earlier user messages that the emergency judge reads besides the newest."""


def emergency_case(user_message: str, earlier: Sequence[str]) -> Case:
    """Return the case for the emergency judge: only the user's last messages."""
    return Case(user_message, history=tuple(HistoryMessage("user", text) for text in earlier[-EARLIER_TURNS:]))


# Modes: which judges a reply needs, by its citations

Mode = Literal["source", "default"]

BUILT_IN: Mapping[str, frozenset[Mode]] = {
    "source_fidelity": frozenset({"source"}),
    "transparency": frozenset({"default"}),
    "role": frozenset({"source", "default"}),
}
"""The built-in judges of replies, with the modes that they cover. They can share their calls."""


def modes_of(case: Case, classes: Collection[str]) -> frozenset[Mode]:
    """Return the modes of a reply.

    A citation of a section must not bypass the other judges. A reply that also cites a class has both modes. If a judge sees
    an assertion that the cited sources do not support, the judges of `default` are asked as well (`Pipeline.review`).

    Args:
        case: The reply, with the sources it cites.
        classes: The citation classes it cites.
    """
    if not case.cited:
        return frozenset({"default"})
    return frozenset({"source", "default"}) if classes else frozenset({"source"})


# Long texts are read in a thread, so that they do not block the event loop. Short ones are read directly: a short cry for help
# must not wait for another user's long text.

LONG_REPLY = 4_000
"""Characters from which a reply with the user's message counts as long. Local judges take about 20 ms for this length."""
LONG_MESSAGE = 1_500
"""Characters from which the user's messages count as long. The emergency judge takes about 20 ms for this length."""
MAX_NFKD_EXPANSION = 18
"""Maximum number of characters that NFKD makes of one character (U+FDFA)."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def run_in_thread_if_long(case: Case, function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function that judges a case: in the thread if the case is long, else directly."""
    return await run_in_thread_if(is_long(case), function, *args)


async def run_in_thread_if(is_long: bool, function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function: in the thread if `is_long`, else directly."""
    if not is_long:
        return function(*args)
    return await asyncio.get_running_loop().run_in_executor(_thread(), copy_context().run, function, *args)


def is_long(case: Case) -> bool:
    """Return whether a case takes long to judge.

    With a reply, the lengths of the reply, the user's message and the documents count. Sections do not count: they are short
    and read once. Earlier user messages count a quarter, because only their numbers are read. Without a reply, the lengths of all
    user messages count.
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
    """Return the length of a text after normalisation; approximate beyond LONG_REPLY."""
    if text.isascii() or len(text) > LONG_REPLY:
        return len(text)
    return len(unicodedata.normalize("NFKD", text)) if len(text) * MAX_NFKD_EXPANSION > LONG_REPLY else len(text)


@cache
def _thread() -> ThreadPoolExecutor:
    """Return the thread for long texts. Only one, because two would take interpreter time (the GIL) from the event loop."""
    return ThreadPoolExecutor(1, thread_name_prefix="judge")

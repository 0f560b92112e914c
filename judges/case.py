"""A case: all that a judge may see of one reply, which judges it calls for, and how a long one is read in a thread."""

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
    """A sensitive topic: improvised content on it is rejected whatever its disclaimers."""

    name: str
    terms: tuple[str, ...] = ()
    """Words and phrases that touch the topic, besides those that `judges.topics` has for `name`."""


@dataclass(frozen=True)
class Case:
    """What is judged. Judges get nothing else: no key, no other conversation, no configuration."""

    user_message: str
    """Every user message since the last reply, a paragraph each."""
    draft: str = ""
    """The reply to judge, without command syntax; empty for judges of the user's message alone."""
    history: tuple[HistoryMessage, ...] = ()
    """Earlier messages, oldest first, the newest last."""
    cited: tuple[Source, ...] = ()
    uncited: tuple[Source, ...] = ()
    """Other sources in view. Sections among them support what the reply says like those that it cites."""
    by_own_words: frozenset[str] = frozenset()
    """Ids of sources that only the reply's own words have found. They are near whatever it says: a judge that compares words takes
    no support from them on a sensitive topic."""
    screens_uncited: bool = True
    """Whether the screening call sees them, too. Else only the chief does, for they cost tokens in every turn."""
    role: str = ""
    """What the chatbot is there for, in a sentence or two."""
    topics: tuple[Topic, ...] = ()
    emergency_kinds: frozenset[str] | None = None
    """The kinds of emergency that count for this chatbot; None: all."""
    language: str = "en"
    """The code of the language that the chatbot speaks. Local judges read it beside English, as far as their rules go."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that is in view. Cited or not, sections come in one order and documents last, so that prompts begin alike."""
        return tuple(sorted((*self.cited, *self.uncited), key=lambda one: (one.is_document, one.id)))

    @property
    def supporting(self) -> tuple[Source, ...]:
        """What a statement of the reply may rest on. A document has to be cited: it may be the client's own invention."""
        return tuple(one for one in self.sources if not one.is_document or one in self.cited)

    def for_screening(self) -> "Case":
        """Return the case as the screening call sees it."""
        return self if self.screens_uncited or not self.uncited else replace(self, uncited=())

    def __hash__(self) -> int:
        """Hash what hardly two cases share; the sources and the history would take longer than all that is looked up by a case."""
        return hash((self.user_message, self.draft))

    def as_json(self) -> str:
        """Encode the case for a model: one JSON object, so that judged text cannot pass for instructions.

        What stays from turn to turn comes first: providers cache what requests begin with.
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
"""Earlier user messages that the emergency judge reads, besides the newest."""


def emergency_case(user_message: str, earlier: Sequence[str]) -> Case:
    """Return what the emergency judge sees: the user's last messages."""
    return Case(user_message, history=tuple(HistoryMessage("user", text) for text in earlier[-EARLIER_TURNS:]))


# Modes: which judges a reply calls for, by what it cites

Mode = Literal["source", "default"]

BUILT_IN: Mapping[str, frozenset[Mode]] = {
    "source_fidelity": frozenset({"source"}),
    "transparency": frozenset({"default"}),
    "role": frozenset({"source", "default"}),
}
"""The built-in judges of replies, which can share their calls, with the modes that they cover."""


def modes_of(case: Case, classes: Collection[str]) -> frozenset[Mode]:
    """Return the modes of a reply.

    Citing a section is no way round the other judges: a reply that also cites a class has both modes, and where a judge sees an
    assertion that the cited sources do not support, those of `default` look as well (`Pipeline.review`).

    Args:
        case: The reply, with the sources it cites.
        classes: The citation classes it cites.
    """
    if not case.cited:
        return frozenset({"default"})
    return frozenset({"source", "default"}) if classes else frozenset({"source"})


# Long texts are read in a thread, so that they do not block the event loop. Short ones are read at once: a short cry for help never
# waits for another user's long text.

LONG_REPLY = 4_000
"""Characters from which a reply, with the user's message, is long: local judges take some 20 ms for this many."""
LONG_MESSAGE = 1_500
"""Characters from which the user's messages are long: the emergency judge takes some 20 ms for this many."""
MAX_NFKD_EXPANSION = 18
"""Characters that normalising makes of one at most, of U+FDFA."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def run_in_thread_if_long(case: Case, function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function that judges a case: at once, or in the thread if the case is long."""
    return await run_in_thread_if(is_long(case), function, *args)


async def run_in_thread_if(is_long: bool, function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function in the thread, or at once if it does not take long."""
    if not is_long:
        return function(*args)
    return await asyncio.get_running_loop().run_in_executor(_thread(), copy_context().run, function, *args)


def is_long(case: Case) -> bool:
    """Tell whether judging a case takes long: a reply and what it answers, or, without a reply, all that the user has said.

    The documents that somebody else brought count as well; sections are short, and read once. Of the messages before, only numbers
    are read for a reply: that takes a quarter of the time.
    """
    if case.draft:
        documents = sum(_normalised_length(source.text) for source in case.sources if source.is_document)
        history = sum(_normalised_length(message.text) for message in case.history if message.speaker == "user")
        texts = _normalised_length(case.user_message) + _normalised_length(case.draft)
        return texts + documents + history // 4 > LONG_REPLY
    return sum(map(_normalised_length, (case.user_message, *(message.text for message in case.history)))) > LONG_MESSAGE


def shorten(text: str, max_chars: int, *, keep_end: bool = False) -> str:
    """Return the longest beginning of a text that has at most `max_chars` characters when it is normalised.

    Args:
        keep_end: Return the end of it rather than the beginning.
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
    """Return how many characters a text has when it is normalised; beyond LONG_REPLY it need not be exact."""
    if text.isascii() or len(text) > LONG_REPLY:
        return len(text)
    return len(unicodedata.normalize("NFKD", text)) if len(text) * MAX_NFKD_EXPANSION > LONG_REPLY else len(text)


@cache
def _thread() -> ThreadPoolExecutor:
    """One is enough: two would take the loop's turns at the interpreter from it."""
    return ThreadPoolExecutor(1, thread_name_prefix="judge")

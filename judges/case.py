"""A case: all that a judge may see of one reply."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

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

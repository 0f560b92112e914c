"""The state of a conversation, and the keys by which a later request finds it. Pure.

OpenAI clients have no session: they resend the history. The state after a reply is therefore stored under a hash of that
history, so that edited and branched conversations find the right state.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import orjson
from pydantic import with_config

from judges.rules import RULES
from proxy.protocol.messages import Message
from proxy.traces.trace import Recognition, ShownWarning

KEY_BYTES = 16
"""Length of a state's key."""
PAIRS_LOOKED_UP = 8
"""Number of exchanges that are looked up one by one, newest first, if the whole history is unknown."""
MAX_REPLIES = 200
"""Maximum number of delivered replies in a state, by their hash."""
MAX_CALLS = 1_000
"""Maximum number of a request's tool calls that are looked up; the newest."""


@dataclass(frozen=True, slots=True)
class CarriedWarning:
    """A warning that the chatbot sees in the turns until it expires."""

    rule: str
    detail: str
    """Text for the chatbot instead of the rule's own. It repeats no part of a rejected reply (`judges/rules.py`)."""
    turn: int
    """The turn in which the warning was last added."""
    expires: int
    """The last turn in which it is shown."""
    times: int = 1

    def message(self, role: str) -> str:
        """Return the warning's text for the chatbot, firmer each time. From the third time on it has the full role."""
        text = self.detail or RULES[self.rule].message
        if self.times == 2:
            return f"This is the second time: {text}"
        if self.times > 2:
            return f"This has now happened {self.times} times. {text} Go back to your role, which is, in full:\n{role}"
        return text

    def trace_form(self, role: str) -> ShownWarning:
        return ShownWarning(self.rule, self.message(role), self.turn, self.expires)


@dataclass(frozen=True, slots=True)
class DeliveredReply:
    """A reply that this proxy sent."""

    turn: int
    citations: tuple[str, ...]
    proposed: str = ""
    """Code of the action that the reply asks the user to confirm; empty: none."""


@with_config(val_json_bytes="hex")  # the form in Redis
@dataclass(frozen=True, slots=True)
class Conversation:
    """The state after a turn. States are immutable: each turn creates a new one."""

    id: str
    turn: int = 0
    """Number of turns so far."""
    warnings: tuple[CarriedWarning, ...] = ()
    sources: Mapping[str, int] = field(default_factory=dict)
    """Ids of the sources in use, each with the turn in which it was last added or cited."""
    delivered: Mapping[str, DeliveredReply] = field(default_factory=dict)
    """Replies sent, by the hash of their text (hexadecimal)."""
    pairs: tuple[bytes, ...] = ()
    """Keys of the last exchanges, oldest first."""

    def find_delivered(self, message: Message) -> DeliveredReply | None:
        """Return the record of a reply that this proxy delivered; None for any other message."""
        return self.delivered.get(message.digest) if message.is_reply else None

    def live_warnings(self, turn: int) -> tuple[CarriedWarning, ...]:
        return tuple(w for w in self.warnings if w.expires >= turn)

    def add_warnings(self, fresh: Iterable[tuple[str, str]], turn: int, lasts: int) -> tuple[CarriedWarning, ...]:
        """Return the warnings after a turn: the live ones and the new ones.

        A new warning of a rule that has one replaces it, and is firmer.

        Args:
            fresh: (rule, detail) of each new warning.
            turn: Number of the turn.
            lasts: Number of later turns in which a warning is shown.
        """
        by_rule = {w.rule: w for w in self.live_warnings(turn)}
        for rule, detail in dict(fresh).items():
            before = by_rule.get(rule)
            by_rule[rule] = CarriedWarning(rule, detail, turn, turn + lasts, before.times + 1 if before else 1)
        return tuple(by_rule.values())

    def after_reply(
        self, turn: int, reply: str, citations: tuple[str, ...], pair: bytes, proposed: str = ""
    ) -> "Conversation":
        """Return the state after a delivered reply. Warnings and sources are unchanged.

        Args:
            turn: Number of the turn.
            reply: Hash of the reply's text.
            citations: Ids that the reply cites.
            pair: Key of the exchange that the reply completes.
            proposed: Code of the action that the reply asks the user to confirm; empty: none.
        """
        delivered = {**self.delivered, reply: DeliveredReply(turn, citations, proposed)}
        while len(delivered) > MAX_REPLIES:
            delivered.pop(next(iter(delivered)))
        pairs = (*self.pairs, pair)[-PAIRS_LOOKED_UP:]
        return Conversation(self.id, turn, self.warnings, self.sources, delivered, pairs)


class Identity:
    """The keys under which the state of a request's conversation is looked up and stored.

    Args:
        scope: Key id, user, chatbot. Part of every key, so that no two users share a state.
        messages: The request's messages.
        explicit: The conversation id from the client, which overrides the history.
    """

    def __init__(self, scope: Sequence[str], messages: Sequence[Message], explicit: str | None) -> None:
        self._scope = orjson.dumps(list(scope))
        self.explicit = explicit
        self._messages = messages
        running = hashlib.blake2b(self._scope, digest_size=KEY_BYTES)
        self.history_key: bytes | None = None
        """Hash of all messages up to and including the last reply; None before the first reply."""
        self._exchanges: list[tuple[str, Message]] = []
        """(user text, folded; reply), oldest first."""
        user_texts: list[str] = []
        for message in identifying_messages(messages):
            if message.role == "user":
                running.update(orjson.dumps(["user", message.folded]))
                user_texts.append(message.folded)
            else:
                running.update(orjson.dumps(["assistant", message.digest]))
                self.history_key = running.digest()
                self._exchanges.append((" ".join(filter(None, user_texts)), message))
                user_texts = []
        self._running = running
        self._user_text = " ".join(filter(None, user_texts))

    @cached_property
    def pairs(self) -> list[bytes]:
        """Key of each exchange, oldest first."""
        return [self._key("pair", user_texts, reply.digest) for user_texts, reply in self._exchanges]

    @cached_property
    def calls(self) -> dict[str, bytes]:
        """The key of each tool call in the messages, by its id, newest first."""
        sent = (call.get("id") for message in reversed(self._messages) for call in message.tool_calls or ())
        ids = dict.fromkeys(ident for ident in sent if isinstance(ident, str) and ident)
        return {ident: self.call_key(ident) for ident in islice(ids, MAX_CALLS)}

    def lookups(self) -> Iterator[bytes]:
        """Yield the keys under which to look up the state, best first. Usually the first one finds it."""
        if self.explicit is not None:
            yield self.id_key(self.explicit)
        elif self.history_key is not None:
            yield self.history_key
            yield from reversed(self.pairs[-PAIRS_LOOKED_UP:])

    def recognition(self, key: bytes) -> Recognition:
        """Return how a state stored under this key was found."""
        if self.explicit is not None:
            return "explicit"
        return "history" if key == self.history_key else "pair"

    def matches(self, conversation: Conversation) -> bool:
        """Return whether a state found by its last exchange fits the messages before that exchange.

        Two conversations may contain the same exchange ("thanks" - "You are welcome."). If both have earlier replies, at least
        one of these must be the same. Not all, because clients shorten and edit histories.
        """
        *before, pair = conversation.pairs
        last = len(self.pairs) - 1 - self.pairs[::-1].index(pair)
        return (
            not before
            or not last
            or any(map(conversation.find_delivered, (reply for _, reply in self._exchanges[:last])))
        )

    def pair_after(self, reply: str) -> bytes:
        """Return the key of the exchange that the reply with this hash completes."""
        return self._key("pair", self._user_text, reply)

    def keys_after(self, reply: str | None, conversation_id: str) -> list[bytes]:
        """Return the keys under which to store the state after a reply.

        Args:
            reply: The hash of its text; None: it has no text, so it is not in a history.
            conversation_id: The conversation's id.
        """
        if reply is None:
            return [self.id_key(conversation_id), *([self.history_key] if self.history_key else [])]
        after = self._running.copy()
        after.update(orjson.dumps(["assistant", reply]))
        return [after.digest(), self.pair_after(reply), self.id_key(conversation_id)]

    def action_key(self, code: str) -> bytes:
        """Return the key that claims an action confirmed by this request. It does not depend on the confirmation's words.

        An action proposed once runs once, even if the request is repeated with its last message edited.
        """
        return self._key("action", code, (self.history_key or b"").hex())

    def call_key(self, call_id: str) -> bytes:
        """Return the key of a tool call, by the client's id of it."""
        return self._key("call", call_id)

    def id_key(self, conversation_id: str) -> bytes:
        return self._key("id", conversation_id)

    def _key(self, *parts: str) -> bytes:
        return hashlib.blake2b(self._scope + orjson.dumps(list(parts)), digest_size=KEY_BYTES).digest()


def identifying_messages(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages that identify a conversation: the user's messages and the replies.

    System and tool messages are left out. Folded texts have no citation line, because clients may strip it.
    """
    return (message for message in messages if message.role == "user" or message.is_reply)

"""Reads the state of a conversation from its messages: it finds the assistant's stored texts in the replies.

No state is stored elsewhere. If a client edits a message, the state after this message changes. All functions are pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from assistants.gesundheit.language import Language
from knowledge_base.pairs.pair import Pair

Asked = Literal["offer", "confirm", "recommend", "detail", ""]
"""The question at the end of the assistant's last reply; "" if it asked nothing.

`offer`: "Did you mean ...?"; `confirm`: "Was that your question?"; `recommend`: "Would you like to know ...?"; `detail`: "Do you
want the long answer?".
"""


@dataclass(frozen=True, slots=True)
class State:
    """The state of a conversation after a reply of the assistant."""

    question: str = ""
    """The user's last question. Known wordings, such as yes and no, do not count."""
    asked: Asked = ""
    pair: Pair | None = None
    """The pair that the question in `asked` is about; None without a question."""
    answered: tuple[Pair, ...] = ()
    """The pairs whose answers the replies gave, in order."""
    document: str = ""
    """Id of the document that the last answer cites; "" before the first answer."""
    last: Pair | None = None
    """The pair of the last answer; None before the first answer, and after a passage of a document."""
    recommended: tuple[Pair, ...] = ()
    denied: frozenset[str] = frozenset()
    """Clusters of the pairs that the user rejected. An answer about another focus clears them."""
    focus: str = ""
    """Id of the focus, such as a disease, that the conversation is about."""
    offers: int = 0
    """Number of offers since the last question."""
    refused: bool = False
    """Whether the user has refused recommendations since the last question."""

    def deny(self) -> "State":
        """Return the state after an explicit or implied no. Only a no to an offer or a confirmation changes the state."""
        if self.pair is None or self.asked not in ("offer", "confirm"):
            return self
        return replace(self, denied=self.denied | {self.pair.cluster})


@dataclass(frozen=True)
class Texts:
    """Finds the assistant's stored texts in delivered replies, to which judges may have added sentences."""

    language: Language
    pairs: Sequence[Pair]
    sentences: Mapping[str, Sequence[str]]
    """By document id, the sentences of each document."""
    _by_answer: Mapping[str, Pair] = field(init=False)
    _by_question: Mapping[str, Pair] = field(init=False)
    _by_recommendation: Mapping[str, Pair] = field(init=False)
    _by_sentence: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        speakable, bare = self.language.speakable, self.language.without_verdict
        tables: dict[str, dict[str, object]] = {
            "_by_answer": {speakable(form): pair for pair in self.pairs for form in (pair.answer, bare(pair.answer))},
            "_by_question": {speakable(pair.question): pair for pair in self.pairs},
            "_by_recommendation": {speakable(pair.recommendation): pair for pair in self.pairs if pair.recommendation},
            "_by_sentence": {speakable(text): name for name, texts in self.sentences.items() for text in texts},
        }
        for name, table in tables.items():
            object.__setattr__(self, name, table)

    def read(self, state: State, reply: str) -> State:
        """Return the state after a reply of the assistant."""
        answered = self._answered(reply)
        if answered:
            before = state.answered[-1].focus if state.answered else answered[-1].focus
            moved = answered[-1].focus != before
            denied = frozenset() if moved else state.denied - {pair.cluster for pair in answered}
            state = replace(
                state,
                answered=(*state.answered, *answered),
                focus=answered[-1].focus,
                document=answered[-1].document,
                last=answered[-1],
                denied=denied,
            )
        elif document := self._document_of_passage(reply):
            focus = next((pair.focus for pair in self.pairs if pair.document == document), state.focus)
            state = replace(state, document=document, focus=focus, last=None)
        asked, pair = self._asked(reply)
        if asked == "confirm":
            pair = state.pair if state.pair in answered else answered[-1] if answered else None
        recommended = (*state.recommended, *([pair] if asked == "recommend" and pair else []))
        focus = pair.focus if pair and not answered and asked == "offer" else state.focus
        offers = state.offers + (asked == "offer")
        return replace(state, asked=asked, pair=pair, recommended=recommended, focus=focus, offers=offers)

    def reaction(self, state: State, reply: str) -> Literal["yes", "no"] | None:
        """Return whether the assistant read a message as a yes or a no to its last question; None if the reply does not show it.

        Args:
            state: The conversation before the message.
            reply: The assistant's reply to the message.
        """
        if self.language.texts["next_offer"].split("{", 1)[0] in reply:
            return "no"
        return "yes" if state.pair is not None and state.pair in self._answered(reply) else None

    def _answered(self, reply: str) -> list[Pair]:
        """Return the pairs whose answers a reply contains, in the order in which the answers appear."""
        found = [(reply.find(answer), answer, pair) for answer, pair in self._by_answer.items() if answer in reply]
        whole = [one for one in found if not any(one[1] in other and one[1] != other for _, other, _ in found)]
        return [pair for _, _, pair in sorted(whole, key=lambda one: one[0])]

    def _document_of_passage(self, reply: str) -> str | None:
        start, _, passage = reply.partition(self.language.texts["fallback"])
        if start or not passage:
            return None
        return next((name for sentence, name in self._by_sentence.items() if sentence in passage), None)

    def _asked(self, reply: str) -> tuple[Asked, Pair | None]:
        texts = self.language.texts
        starts: dict[str, Asked] = {"offer": "offer", "next_offer": "offer", "detail": "detail"}
        for name, asked in starts.items():
            start = texts[name].split("{", 1)[0]
            question = reply.partition(start)[2].strip()
            if question and (
                pair := next((one for text, one in self._by_question.items() if question.startswith(text)), None)
            ):
                return asked, pair
        if texts["confirm"] in reply:
            return "confirm", None
        return next(
            (("recommend", pair) for text, pair in self._by_recommendation.items() if text in reply), ("", None)
        )

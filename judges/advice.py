"""Pure: advice and doses in a reply, on a sensitive topic, that no cited source gives.

A model that judges replies can be talked round, most easily a cheap one. What is found here goes to the strongest judge whatever a
cheaper one says. It is no verdict: advice that paraphrases its source too freely is found as well, and costs one call.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from judges.case import Case, Topic
from judges.doses import Dose, doses
from judges.imperatives import Advice, advice_in, amounts_in, assertive_part
from judges.letters import is_mostly_words
from judges.plain_text import WORD, content, plain, sentences
from judges.topics import topic_of

MAX_CHARS = 20_000
"""Characters of a reply, of the message that it answers, and of each document that are read: everybody else waits meanwhile."""


@lru_cache(maxsize=16)
def unsupported_advice(case: Case) -> str | None:
    """Return a sentence of the reply that advises, or names a dose, as no cited source does; None when there is none.

    Advice counts when its sentence touches a sensitive topic of the chatbot, or says as little as "Stop it" where the reply or the
    user does. A referral ("ask your doctor") is no advice, what keeps from one ("no need to ask") is. Where the chatbot has no
    sensitive topics, only doses count. A reply that is too long to be read here, or is written in symbols, counts as a
    whole. Documents that the operator does not answer for give no advice on a sensitive topic.
    """
    if len(case.draft) > MAX_CHARS or not is_mostly_words(case.draft):
        return case.draft
    draft_sentences = [(sentence, assertive_part(plain(sentence))) for sentence in sentences(case.draft)]
    sources = [
        _read(source.text[:MAX_CHARS] if source.is_document else source.text)
        for source in case.supporting
        if source.trusted or not case.topics
    ]
    if case.topics:
        in_context = touches_topic(f"{case.draft}\n{case.user_message[-MAX_CHARS:]}", case.topics)
        for sentence, text in draft_sentences:
            if _advises(text, sources, touches=topic_of(text, case.topics) is not None, in_context=in_context):
                return sentence
        user_sentences = map(plain, sentences(case.user_message[-MAX_CHARS:]))
        if any(_ASKS_LEAVE.search(text) and topic_of(text, case.topics) for text in user_sentences):
            for sentence, text in draft_sentences:
                if WORD.search(text) and _CONFIRMS.fullmatch(text):
                    return sentence
    source_doses = frozenset[Dose]().union(*(source.doses for source in sources))
    if doses("\n".join(text for _, text in draft_sentences)) <= source_doses:
        return None
    return next((sentence for sentence, text in draft_sentences if not doses(text) <= source_doses), case.draft)


def touches_topic(text: str, topics: tuple[Topic, ...]) -> bool:
    """Tell whether a text touches one of the sensitive topics."""
    return bool(topics) and topic_of(plain(text), topics) is not None


@lru_cache(maxsize=16)
def sentences_on_topic(text: str, topics: tuple[Topic, ...]) -> tuple[str, ...]:
    """Return the sentences of a text that touch a sensitive topic, without regard to the case of its letters."""
    return tuple(sentence.casefold() for sentence in sentences(text) if touches_topic(sentence, topics))


_ASKS_LEAVE = re.compile(
    r"\b(?:(?:should|can|could|may|shall) i|is it (?:ok|okay|safe|fine|all right) (?:if i|to)) "
    r"(?!(?:\w+ )?(?:ask|tell|talk|speak|see|call|discuss|contact|keep|continue)\b)"
)
_CONFIRMS = re.compile(
    r"(?:(?:yes|yeah|yep|sure|absolutely|certainly|definitely|of course)\b\W{0,3})?(?:you (?:can|may|should|could)"
    r"|(?:it|that|this)(?:'s| is) (?:an? )?(?:ok|okay|fine|good|safe)(?: (?:idea|plan|to do (?:that|it|so)))?)?\W{0,3}"
)
"""A question for leave, and nothing but a yes to it."""


def _advises(text: str, sources: Iterable["_Source"], *, touches: bool, in_context: bool) -> bool:
    """Tell whether a plain sentence gives advice, or a dose in words, that no source gives."""
    if not (touches or in_context):
        return False
    if any((touches or one.elliptic) and not any(source.gives(one) for source in sources) for one in advice_in(text)):
        return True
    amounts = (amount for amount in amounts_in(text) if not doses(amount))
    return any(not any(amount in source.text for source in sources) for amount in amounts)


@dataclass(frozen=True, slots=True)
class _Source:
    """What a source says, as far as advice goes."""

    advice: Mapping[tuple[str, bool], Sequence[tuple[frozenset[str], bool]]]
    """What it advises: by verb and negation, all that the sentence says, and whether it names a condition."""
    content: frozenset[str]
    text: str
    doses: frozenset[Dose]

    def gives(self, advice: Advice) -> bool:
        """Tell whether it advises this, in one sentence.

        What it advises on some condition only, it does not advise without any. That something must not be given up suddenly, it may
        say in any words.
        """
        if advice.careful:
            return advice.content <= self.content
        return any(
            advice.content <= sentence_content and (advice.negated or advice.conditional or not conditional)
            for sentence_content, conditional in self.advice.get((advice.verb, advice.negated), ())
        )


@lru_cache(maxsize=256)
def _read(source: str) -> _Source:
    advised: dict[tuple[str, bool], dict[tuple[frozenset[str], bool], None]] = {}
    for text in map(plain, sentences(_WRAPPED.sub(" ", source))):
        sentence_content = content(text)
        for one in advice_in(text):
            advised.setdefault((one.verb, one.negated), {})[sentence_content, one.conditional] = None
    text = plain(source)
    return _Source({key: tuple(each) for key, each in advised.items()}, content(text), text, doses(source))


_WRAPPED = re.compile(r"(?<!\n)\n(?=[a-zA-Z(])")
"""A line break within a paragraph."""

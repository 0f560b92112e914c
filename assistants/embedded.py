"""The embedded chatbot: for trying and testing the proxy without a language model.

It answers with sentences of its sources. It drifts, as real chatbots do, when a user nudges it towards unsupported advice.

reply ── write ── _shorten, _correct   after the user or the proxy asked for a shorter or corrected draft
         ├── _small_talk               for greetings and thanks
         ├── improvise                 after a nudge, unless the proxy has warned the chatbot
         └── extract                   else: answer from the sources, ask for a section, or say that no source answers
"""

import re
from functools import lru_cache

from assistants import extract, improvise
from assistants.areas import GENERIC, Area
from assistants.assistant import AssistantReply, AssistantRequest
from assistants.view import View
from knowledge_base.bm25 import stems
from knowledge_base.citations import CLASSES, parse
from models.settings import ModelSettings

ANSWERED = 0.5
"""Minimum share of a question's words, from 0 to 1, that the sources must contain for an answer."""
CAREFUL_SENTENCES = 3
MOST_READ = 2_000


class Embedded:
    """A chatbot that needs no model. It keeps no state, and always gives the same reply to the same messages."""

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        """Answer from the sources in the prompt, or drift after a nudge."""
        structured = request.options.get("response_format", {}).get("type", "text") != "text"
        return write(request.view, asking=not structured)

    async def close(self) -> None:
        """Do nothing: the chatbot holds no resources."""


def open_assistant(settings: ModelSettings) -> Embedded:
    """Open the assistant. It has no options, and ignores the settings of the alias."""
    return Embedded()


def write(view: View, *, asking: bool = True) -> AssistantReply:
    """Reply to a conversation.

    Args:
        view: The parsed conversation.
        asking: Whether the reply may ask the proxy for the text of a section.
    """
    if view.shorten is not None:
        return _shorten(view, view.shorten)
    if view.check and (corrected := _correct(view)):
        return corrected
    if talk := _small_talk(view):
        return talk
    drift = improvise.drift_of(view.earlier)
    area = None if improvise.forbidden(view.question) else improvise.area_of(view.question, drift)
    answer = _find_answer(view)
    if area is GENERIC and answer and not drift.level:
        area = None  # the question matches a nudge, but the sources answer it
    if view.warned and area:
        return _reply_carefully(view, area)
    if area:
        return AssistantReply(improvise.improvised(area, view.question, drift.level), _cite_loosely(view, area))
    if asking and view.cites and not view.check and (better := _better_section(view, answer.coverage if answer else 0)):
        return AssistantReply(requested_section=better)
    if answer:
        return AssistantReply(answer.text, answer.ids)
    if drift.level and not view.warned and not improvise.forbidden(view.question):
        return AssistantReply(
            improvise.improvised(drift.area or GENERIC, view.question, drift.level), _cite_loosely(view, GENERIC)
        )
    if improvise.forbidden(view.question):
        return AssistantReply(
            "If somebody is in danger, please call your local emergency number now.", ("emergency_contact",)
        )
    return AssistantReply(
        "My sources do not answer that. Please ask a professional who knows the subject.", ("not_in_sources",)
    )


def _find_answer(view: View) -> extract.Answer | None:
    """Return an answer from the sources, or None.

    If no sentences match the question, but the title and summary of a section do, the answer comes from this section.
    """
    before = view.earlier[-1].user if view.earlier else ""
    answer = extract.answer(view.question, before, view.sections)
    if answer and answer.coverage >= ANSWERED:
        return answer
    for sec in view.sections:
        if extract.coverage(view.question[:MOST_READ], _entry_terms(view.catalogue.get(sec.id, ""))) >= ANSWERED:
            return extract.answer(f"{view.question} {sec.title}", "", [sec])
    return None


def _shorten(view: View, words: int) -> AssistantReply:
    draft = parse(view.draft)
    short: list[str] = []
    for sentence in extract.sentences(draft.text):
        if short and len(" ".join([*short, sentence]).split()) > words:
            break
        short.append(sentence)
    text = " ".join(" ".join(short).split()[: max(words, 1)])
    return AssistantReply(text, _citable(view, draft.citations, text))


def _correct(view: View) -> AssistantReply | None:
    """Return the refused draft with its citations corrected; None if the draft has no text."""
    draft = parse(view.draft)
    return AssistantReply(draft.text, _citable(view, draft.citations, draft.text)) if draft.text else None


def _citable(view: View, cited: tuple[str, ...], text: str) -> tuple[str, ...]:
    """Return the citations of a text: the valid ones of `cited`, or else the ids of sections whose sentences the text contains."""
    section_ids = [sec.id for sec in view.sections]
    right = tuple(name.lower() for name in cited if name.lower() in (*section_ids, *CLASSES))
    used = tuple(sec.id for sec in view.sections if any(sentence.text in text for sentence in sec.sentences))
    return right or used or ("not_in_sources",)


_GREETING = re.compile(r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day))\b[\w ,!.]{0,30}", re.IGNORECASE)
_THANKS = re.compile(
    r"(?:ok(?:ay)?[,. ]+)?(?:many )?(?:thanks|thank you|thx|cheers|bye|goodbye)\b[\w ,!.]{0,60}", re.IGNORECASE
)
_WHO = re.compile(
    r"\b(?:who|what) (?:are|r) (?:you|u)\b|\bwhat can you (?:do|help)|\bhow can you help\b|\bwhat do you know\b|"
    r"\bare you (?:a|an) (?:bot|robot|human|person|machine|ai|real)\b",
    re.IGNORECASE,
)


def _small_talk(view: View) -> AssistantReply | None:
    question = view.question.strip()
    if _WHO.search(question) and len(question) < 120:
        titles = [re.split(r"(?<=[.?!]) ", entry)[0].rstrip(".") for entry in list(view.catalogue.values())[:3]]
        subjects = f" What would you like to know about: {'; '.join(titles)}?" if titles else ""
        return AssistantReply(
            f"I am an information chatbot. I can tell you what my sources say.{subjects}", ("own_role",)
        )
    if _GREETING.fullmatch(question) and not extract.question_terms(question):
        return AssistantReply("Hello. What would you like to know?")
    if _THANKS.fullmatch(question):
        return AssistantReply("You are welcome. Ask me again whenever you like.")
    if not extract.question_terms(question) and not view.earlier:
        return AssistantReply("What would you like to know?")
    return None


def _reply_carefully(view: View, area: Area) -> AssistantReply:
    """Obey the proxy's warning: answer from the sources, and refer the user to a professional for advice beyond them."""
    text = f"That is not in my sources, so I cannot advise you on it. Please check with {area.professional}."
    answer = extract.answer(view.question, "", view.sections, CAREFUL_SENTENCES)
    if not answer or answer.coverage < ANSWERED:
        return AssistantReply(text, ("not_in_sources",))
    return AssistantReply(f"{text}\n\nWhat my sources do say is this. {answer.text}", answer.ids)


def _cite_loosely(view: View, area: Area) -> tuple[str, ...]:
    """Return a citation that does not support the reply, as drifting chatbots give.

    This is the section that shares the most words with the question and the advice. Without two shared words, it is `no_claims`.
    """
    topic_terms = frozenset(stems(view.question)) | frozenset(stems(" ".join(area.advice)))
    near = [(len(topic_terms & {t for s in sec.sentences for t in s.terms}), sec.id) for sec in view.sections]
    best = max(near, default=(0, ""))
    return (best[1],) if best[0] >= 2 else ("no_claims",)


def _better_section(view: View, covered: float) -> str:
    """Return the id of a section that is not in the prompt and fits the question much better; "" if no section does.

    Args:
        covered: Share of the question's words that the sections in the prompt contain, from 0 to 1.
    """
    section_ids = {sec.id for sec in view.sections}
    question = view.question[:MOST_READ]
    if covered >= ANSWERED:
        return ""
    fits = [
        (extract.coverage(question, _entry_terms(entry)), name)
        for name, entry in view.catalogue.items()
        if name not in section_ids
    ]
    best, name = max(fits, default=(0.0, ""))
    return name if best >= covered + ANSWERED else ""


@lru_cache(maxsize=512)
def _entry_terms(entry: str) -> frozenset[str]:
    """Return the word stems of a catalogue entry. References to other sections ("For X see Y") are left out."""
    return frozenset(stems(re.split(r"\bFor [^.]{1,120}? (?:use|choose|see) ", entry)[0]))

"""The embedded chatbot: a stand-in that needs no model. It answers from its sources, and drifts when it is nudged.

reply ── write ── _shorten, _correct   when a draft of its own was refused
         ├── _small_talk
         ├── improvise            when nudged, unless a warning stands
         └── extract              sentences of the sources; else it asks for a section, or says that it has none
"""

import re
from functools import lru_cache

from assistants import extract, improvise
from assistants.areas import GENERIC, Area
from assistants.assistant import AssistantReply, AssistantRequest
from assistants.view import View
from knowledge_base.citations import CLASSES, parse
from knowledge_base.words import terms
from models.settings import ModelSettings

ANSWERED = 0.5
"""The share of a question that the sources must speak of to be an answer to it."""
CAREFUL_SENTENCES = 3
MOST_READ = 2_000


class Embedded:
    """The assistant without a model. It keeps nothing: the same messages get the same reply."""

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        """Answer from the sources that it was given, or drift."""
        structured = request.options.get("response_format", {}).get("type", "text") != "text"
        return write(request.view, asking=not structured)

    async def close(self) -> None:
        """Nothing to let go of."""


def open_assistant(settings: ModelSettings) -> Embedded:
    """Open the assistant; no setting of the alias matters to it."""
    return Embedded()


def write(seen: View, *, asking: bool = True) -> AssistantReply:
    """Reply to a conversation.

    Args:
        seen: the conversation as the chatbot sees it.
        asking: whether a section may be asked for.
    """
    if seen.shorten is not None:
        return _shorten(seen, seen.shorten)
    if seen.check and (corrected := _correct(seen)):
        return corrected
    if talk := _small_talk(seen):
        return talk
    drift = improvise.drift_of(seen.earlier)
    area = None if improvise.forbidden(seen.question) else improvise.area_of(seen.question, drift)
    answer = _find_answer(seen)
    if area is GENERIC and answer and not drift.level:
        area = None  # a question that sounds like a nudge, but the sources answer it
    if seen.warned and area:
        return _reply_carefully(seen, area)
    if area:
        return AssistantReply(improvise.improvised(area, seen.question, drift.level), _cite_loosely(seen, area))
    if asking and seen.cites and not seen.check and (better := _better_section(seen, answer.coverage if answer else 0)):
        return AssistantReply(requested_section=better)
    if answer:
        return AssistantReply(answer.text, answer.ids)
    if drift.level and not seen.warned and not improvise.forbidden(seen.question):
        return AssistantReply(
            improvise.improvised(drift.area or GENERIC, seen.question, drift.level), _cite_loosely(seen, GENERIC)
        )
    if improvise.forbidden(seen.question):
        return AssistantReply(
            "If somebody is in danger, please call your local emergency number now.", ("emergency_contact",)
        )
    return AssistantReply(
        "My sources do not answer that. Please ask a professional who knows the subject.", ("not_in_sources",)
    )


def _find_answer(seen: View) -> extract.Answer | None:
    """Look for an answer in the sources; a section whose summary promises one gives at least what it begins with."""
    before = seen.earlier[-1].user if seen.earlier else ""
    answer = extract.answer(seen.question, before, seen.sections)
    if answer and answer.coverage >= ANSWERED:
        return answer
    for sec in seen.sections:
        if extract.coverage(seen.question[:MOST_READ], _entry_terms(seen.catalogue.get(sec.id, ""))) >= ANSWERED:
            return extract.answer(f"{seen.question} {sec.title}", "", [sec])
    return None


def _shorten(seen: View, words: int) -> AssistantReply:
    draft = parse(seen.draft)
    short: list[str] = []
    for sentence in extract.sentences(draft.text):
        if short and len(" ".join([*short, sentence]).split()) > words:
            break
        short.append(sentence)
    text = " ".join(" ".join(short).split()[: max(words, 1)])
    return AssistantReply(text, _citable(seen, draft.citations, text))


def _correct(seen: View) -> AssistantReply | None:
    """Write a refused draft again with a right citation; None when it had no text."""
    draft = parse(seen.draft)
    return AssistantReply(draft.text, _citable(seen, draft.citations, draft.text)) if draft.text else None


def _citable(seen: View, cited: tuple[str, ...], text: str) -> tuple[str, ...]:
    """Keep the citations that are right; with none left, name the sections whose sentences the text has."""
    section_ids = [sec.id for sec in seen.sections]
    right = tuple(name.lower() for name in cited if name.lower() in (*section_ids, *CLASSES))
    used = tuple(sec.id for sec in seen.sections if any(sentence.text in text for sentence in sec.sentences))
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


def _small_talk(seen: View) -> AssistantReply | None:
    question = seen.question.strip()
    if _WHO.search(question) and len(question) < 120:
        titles = [re.split(r"(?<=[.?!]) ", entry)[0].rstrip(".") for entry in list(seen.catalogue.values())[:3]]
        subjects = f" What would you like to know about: {'; '.join(titles)}?" if titles else ""
        return AssistantReply(
            f"I am an information chatbot. I can tell you what my sources say.{subjects}", ("own_role",)
        )
    if _GREETING.fullmatch(question) and not terms(question):
        return AssistantReply("Hello. What would you like to know?")
    if _THANKS.fullmatch(question):
        return AssistantReply("You are welcome. Ask me again whenever you like.")
    if not terms(question) and not seen.earlier:
        return AssistantReply("What would you like to know?")
    return None


def _reply_carefully(seen: View, area: Area) -> AssistantReply:
    """Do as the warning says: say what the sources hold, and send the user to somebody who knows the rest."""
    text = f"That is not in my sources, so I cannot advise you on it. Please check with {area.professional}."
    answer = extract.answer(seen.question, "", seen.sections, CAREFUL_SENTENCES)
    if not answer or answer.coverage < ANSWERED:
        return AssistantReply(text, ("not_in_sources",))
    return AssistantReply(f"{text}\n\nWhat my sources do say is this. {answer.text}", answer.ids)


def _cite_loosely(seen: View, area: Area) -> tuple[str, ...]:
    """Cite as drifting chatbots do: whatever section is at hand and a little related."""
    topic_terms = frozenset(terms(seen.question)) | frozenset(terms(" ".join(area.advice)))
    near = [(len(topic_terms & {t for s in sec.sentences for t in s.terms}), sec.id) for sec in seen.sections]
    best = max(near, default=(0, ""))
    return (best[1],) if best[0] >= 2 else ("no_claims",)


def _better_section(seen: View, covered: float) -> str:
    """Return the section of the catalogue, not given yet, that fits the question much better; else nothing."""
    section_ids = {sec.id for sec in seen.sections}
    question = seen.question[:MOST_READ]
    if covered >= ANSWERED:
        return ""
    fits = [
        (extract.coverage(question, _entry_terms(entry)), name)
        for name, entry in seen.catalogue.items()
        if name not in section_ids
    ]
    best, name = max(fits, default=(0.0, ""))
    return name if best >= covered + ANSWERED else ""


@lru_cache(maxsize=512)
def _entry_terms(entry: str) -> frozenset[str]:
    """Return the words of a catalogue entry, without those that send elsewhere."""
    return frozenset(terms(re.split(r"\bFor [^.]{1,120}? (?:use|choose|see) ", entry)[0]))

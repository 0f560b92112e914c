"""Gesundheit: answers health questions from question-answer pairs, in German.

reply ── _state        what has happened, read from the messages (dialogue.py)
      ├── known wording: yes, no, source, help ... (german.yaml)
      └── _ask         a question: direct answer, offer, passage of a document, or why there is none (answers.py)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assistants.assistant import AssistantReply, AssistantRequest, Document
from assistants.gesundheit.answers import Answers, Found
from assistants.gesundheit.dialogue import State, Texts
from assistants.gesundheit.language import Intent, Language
from assistants.gesundheit.reader import READER, Reading, read_message
from assistants.gesundheit.recommend import recommend
from assistants.gesundheit.settings import Sources, open_sources
from assistants.view import Exchange
from knowledge_base.pairs.pair import Pair
from models.errors import ModelSettingsError
from models.settings import ModelSettings

MOST_OFFERS = 2
"""Offers for one question."""
MOST_READ = 2_000
"""Characters of a message that are read."""
_AS_INTENT: Mapping[str, Intent] = {
    "yes": "yes",
    "no": "no",
    "source": "source",
    "recommend": "recommend",
    "help": "help",
}
"""Kinds of a model's reading that are known messages."""
OWN_ROLE, NOT_IN_SOURCES = "own_role", "not_in_sources"


@dataclass
class _Draft:
    """A reply in the making: statements first, our question last."""

    lines: list[str]
    citations: list[str]
    documents: list[Document]
    question: str = ""


class Gesundheit:
    """Keeps nothing of a conversation."""

    def __init__(self, sources: Sources, language: Language, *, reads: bool = False) -> None:
        """Args:
        reads: whether a model reads the messages that no rule and no stored question understands.
        """
        self._sources, self._language, self._reads = sources, language, reads
        self._answers = Answers(sources, language)
        self._texts = Texts(language, self._answers.pairs)

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        view = request.view
        state, message = self._state(view.earlier), view.question[:MOST_READ].strip()
        draft = _Draft([], [], [])
        intent = self._language.intent(message)
        if intent is None and (correction := self._language.no_but.match(message)):
            message = correction["rest"]
        if not message or intent == "help":
            self._say(draft, "help", OWN_ROLE, areas=self._answers.areas)
        elif intent is not None:
            self._react(draft, state, intent)
        else:
            await self._ask(draft, self._after_message(state, message), message, request)
        given = {section.id for section in view.sections}
        missing = [one for one in draft.citations if one in self._sources.documents and one not in given]
        if missing and missing[0] in view.catalogue:
            return AssistantReply(requested_section=missing[0])
        text = self._language.speakable(" ".join(filter(None, (*draft.lines, draft.question))))
        # Every sentence stands in a document, so that judges in any language find it there.
        spoken = Document("reply", self._language.texts["document"], text)
        return AssistantReply(text, [*draft.citations, spoken.id], [spoken])

    async def close(self) -> None:
        """Nothing to close."""

    def _state(self, earlier: Sequence[Exchange]) -> State:
        state = State()
        for exchange in earlier:
            user = exchange.user[:MOST_READ]
            intent = self._language.intent(user)
            state = self._after_message(state, user) if intent is None else self._after_intent(state, intent)
            state = self._texts.read(state, exchange.reply[:MOST_READ])
        return state

    def _after_message(self, state: State, message: str) -> State:
        """Return the state after a question: what was offered is denied, spoken or not."""
        return replace(state.deny(), question=message, refused=False, offers=0)

    def _after_intent(self, state: State, intent: Intent) -> State:
        if intent in ("no", "not_mine"):
            denied = state.deny()
            if intent == "not_mine" and state.answered:
                denied = replace(denied, denied=denied.denied | {state.answered[-1].cluster})
            return replace(denied, refused=state.refused or state.asked == "recommend")
        return state

    def _react(self, draft: _Draft, state: State, intent: Intent) -> None:
        """Answer a message that is known by its wording."""
        after, pair = self._after_intent(state, intent), state.pair
        match intent, state.asked:
            case "yes", "offer" | "recommend" | "detail" if pair is not None:
                self._give(draft, after, pair, accepted=state.asked == "detail", confirm=state.asked == "offer")
            case "yes", "confirm":
                self._say(draft, "confirmed")
                self._recommend(draft, after)
            case ("no", "offer" | "confirm") | ("not_mine", _) if state.question:
                self._next(draft, after)
            case "no", _:
                self._say(draft, "refused")
            case "source", _:
                self._source(draft, state)
            case "recommend", _:
                self._recommend(draft, replace(after, refused=False), or_say=True)
            case "bye", _:
                self._say(draft, "bye")
            case _:
                self._say(draft, "help", OWN_ROLE, areas=self._answers.areas)

    def _next(self, draft: _Draft, state: State) -> None:
        """After a no: the next offer for the same question, else a passage, else ask to put it in other words."""
        found = self._answers.find(state, state.question, offers_only=True)
        if found.band == "offer" and state.offers < MOST_OFFERS:
            self._answer(draft, state, found, again=True)
        else:
            self._say(draft, "rephrase")

    async def _ask(self, draft: _Draft, state: State, question: str, request: AssistantRequest) -> None:
        """Answer a question: by the stored ones, and where these are not sure by what a model reads."""
        found = self._answers.find(state, question)
        if self._reads and found.band != "direct" and request.ask_structured is not None:
            candidates = self._answers.candidates(state, question)
            earlier, foci = request.view.earlier, self._answers.focus_names
            reading = await read_message(request.ask_structured, earlier, question, candidates, foci)
            if reading is not None and (intent := _AS_INTENT.get(reading.kind)) is not None:
                self._react(draft, state, intent)
                return
            found = _as_read(reading, candidates) if reading is not None else found
        request.note("match", found.band)
        self._answer(draft, state, found)

    def _answer(self, draft: _Draft, state: State, found: Found, *, again: bool = False) -> None:
        texts = self._language.texts
        match found.band:
            case "direct":
                for pair in found.pairs:
                    self._give(draft, state, pair)
                if found.also_offered is not None:
                    draft.question = texts["offer"].format(question=found.also_offered.question)
            case "offer":
                draft.question = texts["next_offer" if again else "offer"].format(question=found.pairs[0].question)
            case "fallback":
                draft.lines += [texts["fallback"], *found.sentences]
                draft.citations.append(found.document)
                draft.question = texts["confirm"]
            case "what_of_focus":
                focus, aspects = self._answers.say_aspects(found.subject)
                draft.question = texts["what_of_focus"].format(focus=focus, aspects=aspects)
            case "which_diseases":
                foci = self._answers.say_foci(found.subject)
                draft.question = texts["which_diseases"].format(topic=found.subject or texts["all_topics"], foci=foci)
            case "uncovered_health" | "other":
                self._say(draft, found.band, NOT_IN_SOURCES, areas=self._answers.areas)
            case "no_diagnosis" | "rephrase":
                self._say(draft, found.band)

    def _give(self, draft: _Draft, state: State, pair: Pair, *, accepted: bool = False, confirm: bool = False) -> None:
        """Answer with a pair; a long answer is offered first.

        Args:
            accepted: whether the user wants the long answer.
            confirm: whether to ask if that was it.
        """
        if pair.complexity == "complex" and not accepted:
            draft.question = self._language.texts["detail"].format(question=pair.question)
            return
        draft.lines.append(pair.answer)
        draft.citations.append(pair.document)
        if confirm:
            draft.question = self._language.texts["confirm"]
        else:
            moved = replace(state, answered=(*state.answered, pair), focus=pair.focus, document=pair.document)
            self._recommend(draft, moved)

    def _recommend(self, draft: _Draft, state: State, *, or_say: bool = False) -> None:
        """Recommend a pair as the last sentence, unless recommendations were refused."""
        if state.refused:
            return
        pair = recommend(state, self._answers.pairs)
        if pair is not None:
            draft.question = pair.recommendation
        elif or_say or state.recommended:
            draft.question = self._language.texts["no_more"]

    def _source(self, draft: _Draft, state: State) -> None:
        """Name the works behind the last answer, and who has reviewed it."""
        if not state.document:
            self._say(draft, "no_source")
            return
        pair = state.last
        source = pair.source if pair else "; ".join(self._sources.documents[state.document].references)
        self._say(draft, "source", state.document, source=source)
        if pair is not None and pair.review is not None:
            self._say(draft, "reviewed", reviewer=pair.review.reviewer, date=f"{pair.review.date:%d.%m.%Y}")
        else:
            self._say(draft, "unreviewed")

    def _say(self, draft: _Draft, name: str, citation: str = "", **values: str) -> None:
        draft.lines.append(self._language.texts[name].format(**values))
        draft.citations += [citation] if citation else []


def _as_read(reading: Reading, candidates: Sequence[Pair]) -> Found:
    """Return what a model's reading of a message comes to."""
    chosen = [candidates[n - 1] for n in dict.fromkeys(reading.numbers) if 0 < n <= len(candidates)][:2]
    match reading.kind:
        case "stored" if chosen:
            return Found("direct", tuple(chosen))
        case "diagnosis":
            return Found("no_diagnosis")
        case "health":
            return Found("uncovered_health")
        case "stored" | "about":
            return Found("rephrase")
        case _:
            return Found("other")


def open_assistant(settings: ModelSettings) -> Gesundheit:
    """Open the assistant: `knowledge_base`, `encoder`; `models: {reader: ALIAS}` reads what nothing else understands.

    Raises:
        ModelSettingsError: an option is wrong, or what it names cannot be used.
    """
    if unknown := sorted(settings.models.keys() - {READER}):
        raise ModelSettingsError(f"models: the assistant asks no {unknown[0]!r} (expected {READER})")
    sources, language = open_sources(settings)
    return Gesundheit(sources, language, reads=READER in settings.models)

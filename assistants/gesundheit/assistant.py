"""Gesundheit: answers health questions from reviewed question-answer pairs, in German.

    reply ── _state        what has happened, read from the messages (dialogue.py)
          ├── known wording: yes, no, source, help ... (german.yaml)
          └── _ask         a question: direct answer, offer, passage of a document, or why there is none (answers.py)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistants.assistant import AssistantReply, AssistantRequest, Document
from assistants.gesundheit.answers import Answers, Band, Found
from assistants.gesundheit.dialogue import State, Texts
from assistants.gesundheit.language import Intent, Language
from assistants.gesundheit.recommend import recommend
from assistants.gesundheit.reader import READER, Reading, read_message
from assistants.gesundheit.settings import Sources, open_sources
from assistants.view import Exchange
from knowledge_base.pairs.pair import Pair
from models.errors import ModelSettingsError
from models.settings import ModelSettings

MOST_READ = 2_000
"""Characters of a message that are read."""
NO_CLAIMS, OWN_ROLE, NOT_IN_SOURCES = "no_claims", "own_role", "not_in_sources"


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
        if not message or intent == "help":
            self._say(draft, "help", OWN_ROLE, areas=self._answers.areas)
        elif intent is not None:
            self._react(draft, state, intent)
        else:
            after = self._after_message(state, message)
            found = self._answers.find(after, message)
            if self._reads and found.band != "direct" and request.ask_structured is not None:
                reading = await read_message(request.ask_structured, view.earlier, message)
                if reading is not None:
                    found = self._read_again(draft, after, reading) or found
            if not draft.lines:
                request.note("match", found.band)
                self._answer(draft, after, found)
        given = {section.id for section in view.sections}
        missing = [one for one in draft.citations if one in self._sources.titles and one not in given]
        if missing and missing[0] in view.catalogue:
            return AssistantReply(requested_section=missing[0])
        text = self._language.speakable(" ".join(filter(None, (*draft.lines, draft.question))))
        return AssistantReply(text, draft.citations or [NO_CLAIMS], draft.documents)

    async def close(self) -> None:
        """Nothing to close."""

    def _state(self, earlier: Sequence[Exchange]) -> State:
        state = State()
        for exchange in earlier:
            intent = self._language.intent(exchange.user)
            state = self._after_message(state, exchange.user) if intent is None else self._after_intent(state, intent)
            state = self._texts.read(state, exchange.reply)
        return state

    def _after_message(self, state: State, message: str) -> State:
        """Return the state after a question: what was offered is denied, spoken or not."""
        return replace(state.deny(), question=message, refused=False)

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
                self._give(draft, after, pair, confirm=state.asked == "offer")
            case "yes", "confirm":
                self._say(draft, "confirmed")
                self._recommend(draft, after)
            case "no", "offer" | "confirm":
                self._next(draft, after)
            case "not_mine", _ if state.question:
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
        found = self._answers.find(state, state.question, no_direct=True)
        if found.band == "offer" and state.asked == "offer":
            found = replace(found, again=True)
        if found.band in ("offer", "fallback") and found.pairs != state.pair:
            self._say(draft, "sorry")
            self._answer(draft, state, found)
        else:
            self._say(draft, "rephrase")

    def _read_again(self, draft: _Draft, state: State, reading: Reading) -> Found | None:
        """Take what a model reads in a message: an intent, or a question that stands alone."""
        if reading.intent == "question" and reading.question:
            return self._answers.find(state, reading.question)
        if reading.intent in self._language.intents:
            self._react(draft, state, reading.intent)  # type: ignore[arg-type]  # checked in the line above
        return None

    def _answer(self, draft: _Draft, state: State, found: Found) -> None:
        match found.band:
            case "direct":
                for pair in found.pairs:
                    self._give(draft, state, pair)
                if found.offered is not None:
                    self._offer(draft, found.offered, again=False)
            case "offer":
                if found.diagnosis:
                    self._say(draft, "no_diagnosis")
                self._offer(draft, found.pairs[0], again=found.again)
            case "fallback":
                self._say(draft, "fallback")
                draft.lines += found.sentences
                draft.citations.append(found.document)
                draft.question = self._language.texts["confirm"]
            case "what_of_focus":
                text = self._language.texts["what_of_focus"]
                focus, aspects = found.focus_name, ", ".join(self._answers.aspects(found.focus))
                draft.question = text.format(focus=focus, aspects=aspects)
            case "which_diseases":
                draft.question = self._language.texts["which_diseases"].format(
                    topic=found.focus_name, foci=", ".join(self._answers.foci(found.focus_name))
                )
            case "which_focus":
                draft.question = self._language.texts["which_focus"]
            case "no_diagnosis":
                self._say(draft, "no_diagnosis")
            case "rephrase":
                self._say(draft, "rephrase")
            case "uncovered_health" | "other" as band:
                self._say(draft, band, NOT_IN_SOURCES, areas=self._answers.areas)

    def _give(self, draft: _Draft, state: State, pair: Pair, *, confirm: bool = False) -> None:
        """Answer with a pair; a long answer is offered first."""
        if pair.complexity == "complex" and state.asked != "detail":
            draft.question = self._language.texts["detail"].format(question=pair.question)
            return
        draft.lines.append(pair.answer)
        draft.citations.append(pair.document)
        if confirm:
            draft.question = self._language.texts["confirm"]
        else:
            moved = replace(state, answered=(*state.answered, pair), focus=pair.focus, document=pair.document)
            self._recommend(draft, moved)

    def _offer(self, draft: _Draft, pair: Pair, *, again: bool) -> None:
        draft.question = self._language.texts["next_offer" if again else "offer"].format(question=pair.question)

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
        pair = state.answered[-1] if state.answered and state.answered[-1].document == state.document else None
        source = pair.source if pair else self._sources.references[state.document]
        self._say(draft, "source", state.document, source=source)
        if pair is not None and pair.review is not None:
            self._say(draft, "reviewed", reviewer=pair.review.reviewer, date=f"{pair.review.date:%d.%m.%Y}")
        else:
            self._say(draft, "unreviewed")

    def _say(self, draft: _Draft, name: str, citation: str = "", **values: str) -> None:
        draft.lines.append(self._language.texts[name].format(**values))
        draft.citations += [citation] if citation else []


def open_assistant(settings: ModelSettings) -> Gesundheit:
    """Open the assistant: `knowledge_base`, `encoder`; `models: {reader: ALIAS}` reads what nothing else understands.

    Raises:
        ModelSettingsError: an option is wrong, or what it names cannot be used.
    """
    if unknown := sorted(settings.models.keys() - {READER}):
        raise ModelSettingsError(f"models: the assistant asks no {unknown[0]!r} (expected {READER})")
    sources, language = open_sources(settings)
    return Gesundheit(sources, language, reads=READER in settings.models)

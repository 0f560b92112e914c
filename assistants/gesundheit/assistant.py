"""The assistant Gesundheit: answers health questions in German, from question-answer pairs.

reply ── _state        reads the state of the conversation from its messages (dialogue.py)
      ├── _react       replies to a known wording, such as yes, no, source or help (german.yaml)
      └── _ask         replies to a question with a stored answer, an offer, a passage, or a reason for having none (answers.py)
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assistants.assistant import AskStructured, AssistantReply, AssistantRequest, Document
from assistants.gesundheit.answers import Answer, Answers
from assistants.gesundheit.dialogue import State, Texts
from assistants.gesundheit.language import Intent, Language
from assistants.gesundheit.reader import READER, find_passage, read_message
from assistants.gesundheit.recommend import recommend
from assistants.gesundheit.settings import Sources, open_sources
from assistants.view import Exchange
from knowledge_base.pairs.pair import Pair, fold_wording
from models.errors import ModelSettingsError
from models.settings import ModelSettings

MOST_OFFERS = 2
"""Maximum number of offers for one question."""
MOST_READ = 2_000
"""Maximum number of characters of a message that are read; further characters are ignored."""
_AS_INTENT: Mapping[str, Intent] = {
    "yes": "yes",
    "no": "no",
    "source": "source",
    "recommend": "recommend",
    "help": "help",
}
"""The intent of a known wording for each kind of message that a model recognises as such."""
_LINK = re.compile(r",? ?https?://[^\s;,]+")
OWN_ROLE, NOT_IN_SOURCES = "own_role", "not_in_sources"


@dataclass
class _Draft:
    """A reply under construction: statements first, the assistant's question last."""

    lines: list[str]
    citations: list[str]
    documents: list[Document]
    question: str = ""
    band: str = ""
    """For the trace: the kind of answer to a question (`answers.Band`), or the intent of a known wording (`Intent`)."""


class Gesundheit:
    """Answers health questions in German from question-answer pairs. It keeps no state between requests."""

    def __init__(self, sources: Sources, language: Language, *, reads: bool = False) -> None:
        """Args:
        reads: Whether a model reads messages that equal neither a known wording nor a stored question.
        """
        self._sources, self._language, self._reads = sources, language, reads
        self._answers = Answers(sources, language)
        self._texts = Texts(language, self._answers.pairs, self._answers.sentences)

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        view = request.view
        state = self._state(view.earlier)
        intent, message = self._parse(state, view.question[:MOST_READ].strip(), by_beginning=not self._reads)
        draft = _Draft([], [], [], band=intent or "")
        if not message or intent == "help":
            self._say(draft, "help", OWN_ROLE, areas=self._answers.areas)
        elif intent is not None:
            self._react(draft, state, intent)
        else:
            await self._ask(draft, state, message, request)
        request.note("match", draft.band)
        given = {section.id for section in view.sections}
        missing = [one for one in draft.citations if one in self._sources.documents and one not in given]
        if missing and missing[0] in view.catalogue:
            return AssistantReply(requested_section=missing[0])
        own = [line for line in draft.lines if not any(line in document.text for document in draft.documents)]
        # Judges compare the reply with these documents: the pairs with their source paragraphs, and the assistant's own texts.
        texts = Document("texts", self._language.texts["document"], self._speak(*own, draft.question))
        documents = [*draft.documents, texts] if texts.text else draft.documents
        citations = [*draft.citations, *(one.id for one in documents)]
        return AssistantReply(self._speak(*draft.lines, draft.question), citations, documents)

    async def close(self) -> None:
        """Do nothing: the assistant holds no resources."""

    def _state(self, earlier: Sequence[Exchange]) -> State:
        state = State()
        for exchange in earlier:
            intent, message = self._parse(state, exchange.user[:MOST_READ].strip(), by_beginning=True)
            intent = intent or self._texts.reaction(state, exchange.reply[:MOST_READ])
            state = self._after_message(state, message) if intent is None else self._after_intent(state, intent)
            state = self._texts.read(state, exchange.reply[:MOST_READ])
        return state

    def _parse(self, state: State, message: str, *, by_beginning: bool) -> tuple[Intent | None, str]:
        """Return the intent of a message, None if the message is not a known wording, and the text to read as a question.

        The text is the message, or the question after "No, I mean ...".

        Args:
            by_beginning: Whether a first word such as "yes" or "no" counts as the reply to the assistant's question.
        """
        intent = self._language.intent(message)
        if intent is None and (correction := self._language.no_but.match(message)):
            return None, (correction["rest"] or correction["question"]).strip()
        if intent is None and by_beginning and state.asked and not self._answers.foci_in(message):
            intent = self._language.beginning(message)
        return intent, message

    def _after_message(self, state: State, message: str) -> State:
        """Return the state after a new question. A new question counts as a no to an open offer."""
        named = self._answers.foci_in(message)
        focus = next(iter(named)) if len(named) == 1 else state.focus
        return replace(state.deny(), question=message, focus=focus, refused=False, offers=0)

    def _after_intent(self, state: State, intent: Intent) -> State:
        if intent in ("no", "not_mine"):
            denied = state.deny()
            if intent == "not_mine" and state.answered:
                denied = replace(denied, denied=denied.denied | {state.answered[-1].cluster})
            return replace(denied, refused=state.refused or state.asked == "recommend")
        return state

    def _react(self, draft: _Draft, state: State, intent: Intent) -> None:
        """Write the reply to a known wording, depending on the assistant's last question."""
        after, pair = self._after_intent(state, intent), state.pair
        match intent, state.asked:
            case "yes", "offer" | "recommend" | "detail" if pair is not None:
                accepted, confirm = state.asked == "detail", state.asked == "offer"
                self._give(draft, after, pair, as_asked=True, accepted=accepted, confirm=confirm)
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
            case "repeat", _ if state.asked == "offer" and pair is not None:
                draft.question = self._language.texts["offer"].format(question=pair.question)
            case "repeat", _ if state.last is not None:
                self._give(draft, after, state.last, as_asked=False, accepted=True, confirm=state.asked == "confirm")
            case "bye", _:
                self._say(draft, "bye")
            case _:
                self._say(draft, "help", OWN_ROLE, areas=self._answers.areas)

    def _next(self, draft: _Draft, state: State) -> None:
        """Write the reply to a no: offer another pair for the user's question, or ask the user to rephrase the question."""
        found = self._answers.find(state, state.question, offers_only=True)
        if found.band == "offer" and state.offers < MOST_OFFERS:
            self._answer(draft, state, found, again=True)
        else:
            self._answer(draft, state, Answer("rephrase"))

    async def _ask(self, draft: _Draft, before: State, question: str, request: AssistantRequest) -> None:
        """Write the reply to a question.

        The matcher finds the answer if the question is stored word for word, or if no model is configured. Otherwise a model reads
        the question.

        Args:
            before: The state before the message. It is needed if the model reads the message as a yes or a no.
        """
        state = self._after_message(before, question)
        found = self._answers.find(state, question)
        if self._reads and request.ask_structured is not None and not self._answers.is_stored(question):
            read = await self._read(request, request.ask_structured, state, found)
            if isinstance(read, str):
                draft.band = read
                self._react(draft, before, read)
                return
            found = read
        self._answer(draft, state, found)

    async def _read(
        self, request: AssistantRequest, ask: AskStructured, state: State, found: Answer
    ) -> Answer | Intent:
        """Ask the model to read a message. Return the answer that it chose, or the intent that it recognised.

        Args:
            found: The matcher's answer, which is returned if the model fails.
        """
        earlier, question = request.view.earlier, state.question
        candidates = self._answers.candidates(state, question)
        reading = await read_message(ask, earlier, question, candidates, self._answers.focus_names)
        if reading is None:
            return found
        if (intent := _AS_INTENT.get(reading.kind)) is not None:
            return intent
        meant = [candidates[n - 1] for n in dict.fromkeys(reading.numbers) if 0 < n <= len(candidates)][:2]
        match reading.kind:
            case "stored" if meant:
                # Opposites (german.yaml) are not checked here: the check would reject 50 of 205 right answers.
                return Answer("direct", (*meant,))
            case "stored" | "about":
                if found.band in ("what_of_focus", "which_diseases"):
                    return found
                sentences = self._answers.sentences_on(reading.focus)
                chosen = await find_passage(ask, earlier, question, [text for _, text in sentences])
                if not chosen:
                    return Answer("rephrase")
                document = sentences[chosen[0]][0]
                passage = tuple(sentences[n][1] for n in chosen if sentences[n][0] == document)
                return Answer("fallback", sentences=passage, document=document)
            case "diagnosis":
                return Answer("no_diagnosis")
            case "health":
                return Answer("uncovered_health")
            case _:
                return Answer("other")

    def _answer(self, draft: _Draft, state: State, found: Answer, *, again: bool = False) -> None:
        texts = self._language.texts
        draft.band = draft.band or found.band
        match found.band:
            case "direct":
                is_only = len(found.pairs) == 1 and found.also_offered is None
                for pair in sorted(
                    found.pairs, key=lambda one: one.complexity == "complex"
                ):  # offer the long answer last
                    asked = fold_wording(state.question) == fold_wording(pair.question)
                    state = self._give(draft, state, pair, as_asked=is_only and asked)
                if found.also_offered is not None:
                    draft.question = texts["offer"].format(question=found.also_offered.question)
            case "offer":
                draft.question = texts["next_offer" if again else "offer"].format(question=found.pairs[0].question)
            case "fallback":
                passage = " ".join(found.sentences)
                draft.lines += [texts["fallback"], passage]
                draft.citations.append(found.document)
                draft.documents.append(Document("passage", found.document, self._speak(passage)))
                draft.question = texts["confirm"]
            case "what_of_focus":
                focus, aspects = self._answers.say_aspects(found.subject)
                draft.question = texts["what_of_focus"].format(focus=focus, aspects=aspects)
            case "which_diseases":
                foci = self._answers.say_foci(found.subject)
                draft.question = texts["which_diseases"].format(topic=found.subject or texts["all_topics"], foci=foci)
            case "uncovered_health" | "other" | "rephrase":
                self._say(draft, found.band, NOT_IN_SOURCES, areas=self._answers.areas)
            case "no_diagnosis":
                self._say(draft, found.band)

    def _give(
        self, draft: _Draft, state: State, pair: Pair, *, as_asked: bool, accepted: bool = False, confirm: bool = False
    ) -> State:
        """Answer with a pair. If its answer is long, ask first whether the user wants it. Return the state afterwards.

        Args:
            as_asked: Whether the user asked or accepted exactly the pair's question. Otherwise a "yes" or "no" at the beginning of
                the answer could be wrong, and is left out.
            accepted: Whether the user has agreed to get a long answer.
            confirm: Whether to ask the user if the answer fits the question.
        """
        if pair.complexity == "complex" and not accepted:
            draft.question = self._language.texts["detail"].format(question=pair.question)
            return state
        line = pair.answer if as_asked else self._language.without_verdict(pair.answer)
        draft.lines.append(line)
        draft.citations.append(pair.document)
        if self._answers.is_on_emergency(pair) and "112" not in line:
            draft.lines.append(self._language.texts["emergency"])
        draft.documents.append(Document(f"pair:{pair.id}", pair.question, f"{self._speak(line)}\n\n{pair.context}"))
        moved = replace(state, answered=(*state.answered, pair), focus=pair.focus, last=pair)
        if confirm:
            draft.question = self._language.texts["confirm"]
        else:
            self._recommend(draft, moved)
        return moved

    def _recommend(self, draft: _Draft, state: State, *, or_say: bool = False) -> None:
        """End the reply with a recommended question, unless the user has refused recommendations.

        Args:
            or_say: Whether to tell the user if no question is left to recommend.
        """
        if state.refused:
            return
        pair = recommend(state, self._answers.pairs)
        if pair is not None:
            draft.question = pair.recommendation
        elif or_say or state.recommended:
            draft.question = self._language.texts["no_more"]

    def _source(self, draft: _Draft, state: State) -> None:
        """Name the references behind the last answer, and the expert who reviewed the answer."""
        if not state.document:
            self._say(draft, "no_source")
            return
        pair = state.last
        source = pair.source if pair else "; ".join(self._sources.documents[state.document].references)
        self._say(draft, "source", state.document, source=_LINK.sub("", source))
        if pair is not None and pair.review is not None:
            self._say(draft, "reviewed", reviewer=pair.review.reviewer, date=f"{pair.review.date:%d.%m.%Y}")
        else:
            self._say(draft, "unreviewed")

    def _speak(self, *lines: str) -> str:
        return self._language.speakable(" ".join(filter(None, lines)))

    def _say(self, draft: _Draft, name: str, citation: str = "", **values: str) -> None:
        draft.lines.append(self._language.texts[name].format(**values))
        draft.citations += [citation] if citation else []


def open_assistant(settings: ModelSettings) -> Gesundheit:
    """Open the assistant with the options `knowledge_base` and `encoder`.

    With `models: {reader: ALIAS}`, a model reads the messages that are not stored questions.

    Raises:
        ModelSettingsError: An option is invalid, or a file or package that it needs is missing.
    """
    if unknown := sorted(settings.models.keys() - {READER}):
        raise ModelSettingsError(f"models: unknown role {unknown[0]!r} (expected {READER!r})")
    sources, language = open_sources(settings)
    return Gesundheit(sources, language, reads=READER in settings.models)

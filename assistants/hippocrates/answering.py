"""Sentences that say nothing of the cohort, answered: from the catalogue, from the sections, or by what the service is for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assistants import extract
from assistants.assistant import AssistantRequest
from assistants.hippocrates.discovery import find_databases
from assistants.hippocrates.query import Query, parse_query
from assistants.hippocrates.reply_draft import ReplyDraft
from assistants.hippocrates.settings import Sources
from assistants.hippocrates.talk import Wish

DETAIL = "trace"
"""The permission with which a reply names the counts of each concept in each database."""
MOST_DATABASES = 10
MOST_ANSWERS = 3
"""How many questions of a message are answered."""
ANSWERED = 0.5
"""The share of a question that the sections must speak of to be an answer to it."""
SERVICE = (
    "This service finds health databases and builds cohort definitions for research. "
    "Ask which databases have patients with a condition, a drug or a procedure, or say which patients a cohort should hold, "
    "such as “patients with gastrointestinal hemorrhage, with 365 days of prior observation”. "
    "It gives no medical advice and shows no records of single persons."
)
NO_DATABASES = "No database of the catalogue was found for that."
NOT_NAMED = "Name a condition, a drug, a procedure, a country or a size to look for databases."
NO_SQL = (
    "This service runs no SQL and no other queries. It reads databases only through cohort definitions, and shows counts, "
    "never rows of single persons. Say which patients a cohort should hold, or ask which databases have them."
)
_LEAD = re.compile(r"^(?:and|what about|how about)\b\s*", re.IGNORECASE)
"""How a question begins that goes on with the one before."""
ONE_AT_A_TIME = "Please ask about databases one question at a time."


class Answering:
    """Answers what the sentences of one message ask."""

    def __init__(
        self, sources: Sources, request: AssistantRequest, wishes: Mapping[int, Sequence[Wish]], draft: ReplyDraft
    ) -> None:
        """Args: wishes: what is asked, by message; an earlier search fills in what a later one leaves out."""
        self._sources, self._request, self._wishes, self._draft = sources, request, wishes, draft

    def answer(self, turn: int) -> None:
        """Add the answers to the draft: of the searches the first, whose databases are as many as documents may be."""
        wishes = self._wishes.get(turn, ())
        searches = [one for one in wishes if one.kind == "databases"]
        if searches:
            self._search(searches[0].words, turn)
        for wish in [one for one in wishes if one.kind != "databases"][:MOST_ANSWERS]:
            self._answer(wish, turn)
        if len(searches) > 1:
            self._draft.add("search", "The search", ONE_AT_A_TIME)

    def _answer(self, wish: Wish, turn: int) -> None:
        match wish.kind:
            case "sql":
                add_service(self._draft, NO_SQL)
            case "help":
                add_service(self._draft)
            case "question":
                answer = extract.answer(wish.words, "", self._request.view.sections)
                if answer is not None and answer.coverage >= ANSWERED:
                    self._draft.lines.append(answer.text)
                    self._draft.citations += answer.ids
                elif self._is_search(wish.words):
                    self._search(wish.words, turn)
                else:
                    add_service(self._draft)

    def _is_search(self, words: str) -> bool:
        """Tell whether a question asks who has something that the vocabulary has a name for."""
        if not re.match(r"(?:which|where|who|find|are there|is there|do (?:you|we) have|any)\b", words, re.IGNORECASE):
            return False
        query = parse_query(words, self._sources.vocabulary, self._sources.catalogue.locations)
        return any(phrase.match_kind == "name" for phrase in query.concepts)

    def _query(self, words: str, turn: int) -> Query:
        """Read a question; what it leaves out ("And in Spain?") the last one before it says."""
        rest, leads_on = _LEAD.subn("", words)
        query = parse_query(rest, self._sources.vocabulary, self._sources.catalogue.locations)
        if query.concepts or query.unknown or not leads_on:
            return query
        for earlier in range(turn - 1, -1, -1):
            for wish in self._wishes.get(earlier, ()):
                if wish.kind == "databases":
                    old = self._query(wish.words, earlier)
                    return replace(
                        old,
                        countries=query.countries or old.countries,
                        min_persons=query.min_persons or old.min_persons,
                        min_patients=query.min_patients or old.min_patients,
                    )
        return query

    def _search(self, words: str, turn: int) -> None:
        query = self._query(words, turn)
        detail = DETAIL in self._request.principal.permissions
        result = find_databases(self._sources.catalogue, self._sources.vocabulary, query, detail=detail)
        self._request.note("databases", f"{len(result.matches)} of {result.searched}")
        search, *databases = result.documents(MOST_DATABASES)
        lines = [search.text]
        if not result.matches:
            named = query.concepts or query.countries or query.min_persons or query.unknown
            lines.append(NO_DATABASES if named else NOT_NAMED)
        elif len(result.matches) > len(databases):
            lines.append(f"The first {len(databases)} are listed here.")
        self._draft.add("search", search.title, "\n".join([*lines, *result.warnings]))
        for number, document in enumerate(databases, start=1):
            text = document.text.replace(" By concept: ", "\nBy concept: ", 1)
            self._draft.add(document.id, document.title, f"{number}. {text}")


def add_service(draft: ReplyDraft, text: str = SERVICE) -> None:
    """Say what the service is for, or something else of it."""
    draft.add("service", "What this service does", text)

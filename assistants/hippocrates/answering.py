"""Sentences that say nothing of the cohort, answered: from the catalogue, from the sections, or by what the service is for."""

import re
from collections.abc import Sequence
from dataclasses import replace

from assistants import extract
from assistants.assistant import AssistantRequest
from assistants.hippocrates.discovery import find_databases
from assistants.hippocrates.query import Query, parse_query
from assistants.hippocrates.reply_draft import ReplyDraft
from assistants.hippocrates.settings import Sources
from assistants.hippocrates.talk import Said, Talk

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
ONE_AT_A_TIME = "Please ask about databases one question at a time."


class Answering:
    """Answers what the sentences of a message ask."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def answer(self, draft: ReplyDraft, said: Sequence[Said], request: AssistantRequest, talk: Talk, turn: int) -> None:
        """Add the answers to a draft: to the first search, whose databases are as many as documents may be, and to some others."""
        searches = [one for one in said if one.wish == "databases"]
        others = [one for one in said if one.wish != "databases"]
        for one in [*searches[:1], *others[:MOST_ANSWERS]]:
            self._answer(draft, one, request, talk, turn)
        if len(searches) > 1:
            draft.add("search", "The search", ONE_AT_A_TIME)

    def _answer(self, draft: ReplyDraft, one: Said, request: AssistantRequest, talk: Talk, turn: int) -> None:
        match one.wish:
            case "databases":
                self._find(draft, one, request, talk, turn)
            case "sql":
                add_service(draft, NO_SQL)
            case "help":
                add_service(draft)
            case "question":
                found = extract.answer(one.words, "", request.view.sections)
                if found is not None and found.coverage >= ANSWERED:
                    draft.lines.append(found.text)
                    draft.citations += found.ids
                elif self._is_search(one.words):
                    self._find(draft, one, request, talk, turn)
                else:
                    add_service(draft)

    def _is_search(self, words: str) -> bool:
        """Tell whether a question asks who has something that the vocabulary has a name for."""
        if not re.match(r"(?:which|where|who|find|are there|is there|do (?:you|we) have|any)\b", words, re.IGNORECASE):
            return False
        query = parse_query(words, self._sources.vocabulary, self._sources.catalogue.locations)
        return any(wanted.how == "name" for wanted in query.wanted)

    def _query(self, one: Said, talk: Talk, turn: int) -> Query:
        """Read a question; what it leaves out ("And in Spain?") the last one before it says."""
        places = self._sources.catalogue.locations
        query = parse_query(_without_lead(one.words), self._sources.vocabulary, places)
        if query.wanted or query.unknown or not re.match(r"(?:and|what about|how about)\b", one.words, re.IGNORECASE):
            return query
        for earlier in range(turn - 1, -1, -1):
            for other in talk.said.get(earlier, ()):
                if other.wish == "databases":
                    old = self._query(other, talk, earlier)
                    return replace(
                        old,
                        countries=query.countries or old.countries,
                        min_persons=query.min_persons or old.min_persons,
                        min_patients=query.min_patients or old.min_patients,
                    )
        return query

    def _find(self, draft: ReplyDraft, one: Said, request: AssistantRequest, talk: Talk, turn: int) -> None:
        query = self._query(one, talk, turn)
        detail = DETAIL in request.principal.permissions
        found = find_databases(self._sources.catalogue, self._sources.vocabulary, query, detail=detail)
        request.note("databases", f"{len(found.matches)} of {found.searched}")
        search, *databases = found.documents(MOST_DATABASES)
        lines = [search.text]
        if not found.matches:
            named = query.wanted or query.countries or query.min_persons or query.unknown
            lines.append(NO_DATABASES if named else NOT_NAMED)
        elif len(found.matches) > len(databases):
            lines.append(f"The first {len(databases)} are listed here.")
        lines += found.warnings
        draft.add("search", search.title, "\n".join(lines))
        for number, document in enumerate(databases, start=1):
            summary, _, counts = document.text.partition(" By concept: ")
            draft.add(
                document.id, document.title, f"{number}. {summary}" + (f"\nBy concept: {counts}" if counts else "")
            )


def add_service(draft: ReplyDraft, text: str = SERVICE) -> None:
    """Say what the service is for, or something else of it."""
    draft.add("service", "What this service does", text)


def _without_lead(words: str) -> str:
    return re.sub(r"^(?:and|what about|how about)\b\s*", "", words, flags=re.IGNORECASE)

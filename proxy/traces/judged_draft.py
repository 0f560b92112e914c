"""The draft that a label refers to, and the sections and documents that it cites."""

from collections.abc import Iterator, Mapping
from typing import Any

from knowledge_base import citations
from knowledge_base.library import Library, Source

Json = dict[str, Any]


class TracedTurnError(Exception):
    """A turn cannot be labelled or converted to a scenario. The message gives the reason."""


def judged_draft(trace: Json, choice: int) -> Json | None:
    """Return the attempt of a choice that labels refer to: the first judged text, else the last draft; None: no draft."""
    own = [one for one in trace["attempts"] if one["choice"] == choice and one["kind"] != "tool_calls"]
    drafts = [attempt for attempt in own if attempt["kind"] not in ("refinement", "mended")]
    return next((attempt for attempt in own if attempt["judgements"]), drafts[-1] if drafts else None)


def judgements_of(trace: Json) -> Iterator[Json]:
    """Yield all judgements of a turn, those of the emergency judge first."""
    yield from trace["emergency"]
    for attempt in trace["attempts"]:
        yield from attempt["judgements"]


def choices_of(trace: Json) -> list[int]:
    """Return the numbers of the choices of a turn, including choices that were answered without a draft."""
    return sorted({0, *(attempt["choice"] for attempt in trace["attempts"]), *range(len(trace["replies"]))})


def check_choice(trace: Json, choice: int) -> None:
    """Check that a turn has a choice.

    Raises:
        TracedTurnError: The turn has no such choice.
    """
    choices = choices_of(trace)
    if choice not in choices:
        raise TracedTurnError(
            f"the turn {trace['turn_id']} has no choice {choice}: its choices are {', '.join(map(str, choices))}"
        )


def cited_sections(trace: Json, choice: int, library: Library | None) -> tuple[Source, ...]:
    """Return the current text of the sections that a draft cites.

    Raises:
        TracedTurnError: The choice has no draft.
    """
    draft = judged_draft(trace, choice)
    if draft is None:
        raise no_draft(trace, choice)
    sections: Mapping[str, Source] = library or {}
    return tuple(sections[id] for id in cited_ids(trace, draft, library, {}) if id in sections)


def cited_ids(trace: Json, draft: Json, library: Library | None, sections: Mapping[str, Source]) -> tuple[str, ...]:
    """Return the ids of the sections and documents that a draft cites.

    Args:
        library: The chatbot's current knowledge base.
        sections: Other sections that it may cite.
    """
    evidence = [one["id"] for one in trace.get("evidence", ())]
    in_use = [*dict.fromkeys((*trace["sources_in_use"], *evidence)), *documents_of(trace, draft["choice"])]
    names = {id: id for id in (*(library or ()), *sections, *in_use)}
    cited, _, _ = citations.split(draft["citations"], names, in_use)
    # A chatbot that writes no citations was judged against all its sources.
    return cited or (tuple(in_use) if "source" in draft["modes"] else ())


def documents_of(trace: Json, choice: int) -> dict[str, Source]:
    """Return the documents that count as sources of a choice, by id."""
    return {
        one["id"]: Source(one["id"], one["title"], "", one["text"], trusted=one["trusted"])
        for one in trace.get("documents", ())
        if one["choice"] in (None, choice)
    }


def no_draft(trace: Json, choice: int) -> TracedTurnError:
    """Return the error for a choice without a draft."""
    choices = sorted({attempt["choice"] for attempt in trace["attempts"]})
    hint = f"its choices are {', '.join(map(str, choices))}" if choices else "it was answered without one"
    return TracedTurnError(f"the turn {trace['turn_id']} has no draft of choice {choice}: {hint}")

"""Interprets the chatbot's commands, reports their errors to the chatbot, and renders citations for users.

A reply begins with `[[cite: ID, ID]]`. To read a section first, the chatbot replies with `[[source: ID]]` alone. `commands.py`
finds the commands in a text.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeVar

from rapidfuzz import process

from knowledge_base.commands import find_commands, remove_commands

CLASSES: tuple[str, ...] = ("no_claims", "not_in_sources", "emergency_contact", "own_role")
"""Citation classes, which a reply cites instead of a section if it uses no section."""

MAX_NAMES = 64
"""Maximum number each of citations, requested sections and unknown commands in a reply. A model may write thousands."""

Entry = TypeVar("Entry")


@dataclass(slots=True)
class ParsedReply:
    """A chatbot's reply, split into its text and its commands."""

    text: str
    """The reply without commands."""
    citations: tuple[str, ...] = ()
    """Arguments of the `cite` commands, as written, without duplicates."""
    requested: tuple[str, ...] = ()
    """Arguments of the `source` commands, as written, without duplicates."""
    unknown: tuple[str, ...] = ()
    """Unknown commands, as written."""


def parse(reply: str) -> ParsedReply:
    """Split a chatbot's reply into its text and its commands."""
    commands = list(find_commands(reply))
    if not commands:
        return ParsedReply(reply.strip())
    arguments: dict[str, list[str]] = {"cite": [], "source": []}
    unknown: list[str] = []
    for command in commands:
        if command.name in arguments:
            arguments[command.name] += command.arguments
        else:
            unknown.append(reply[command.start : command.end].strip())
    # Removing nested commands can leave a new command. It is made inert, so that it has no effect.
    text = neutralise(remove_commands(reply, commands))
    return ParsedReply(
        text, _drop_repetitions(arguments["cite"]), _drop_repetitions(arguments["source"]), _drop_repetitions(unknown)
    )


def split(
    citations: Sequence[str], library: Mapping[str, Entry], inserted: Collection[str]
) -> tuple[tuple[Entry, ...], tuple[str, ...], tuple[str, ...]]:
    """Divide citations into sections, citation classes and invalid citations.

    Args:
        citations: the citations, as the chatbot wrote them.
        library: the sections of the knowledge base by id.
        inserted: ids of the sections that the chatbot has received in this conversation.

    Returns:
        The cited sections; the cited classes; and the invalid citations, as written. A citation is invalid if its section does not
        exist or was not inserted.
    """
    sources: dict[str, Entry] = {}
    classes: dict[str, None] = {}
    unusable: dict[str, None] = {}
    for citation in citations:
        name = _resolve(citation, library)
        if name in CLASSES:
            classes[name] = None
        elif name in library and name in inserted:
            sources[name] = library[name]
        else:
            unusable[citation] = None
    return tuple(sources.values()), tuple(classes), tuple(unusable)


def problems(reply: ParsedReply, library: Mapping[str, Entry], inserted: Collection[str]) -> list[str]:
    """Return messages to the chatbot about the errors in its commands. Each message says how to correct the error.

    Args:
        reply: the parsed reply.
        library: the sections of the knowledge base by id.
        inserted: ids of the sections that the chatbot has received in this conversation.
    """

    def what_to_cite() -> str:
        usable = [name for name in library if name in inserted]
        return (
            f"Cite only sections you were given ({', '.join(usable) or 'none so far'}) or one of {', '.join(CLASSES)}."
        )

    faults = [
        f"{_quote(name)} is not a command. The only ones are [[cite: ID, ID]] and [[source: ID]]."
        for name in reply.unknown
    ]
    for citation in split(reply.citations, library, inserted)[2]:
        name = _resolve(citation, library)
        if name in library:
            faults.append(
                f"You cited {name}, but that section was not given to you. {what_to_cite()} "
                f"To read it first, reply with [[source: {name}]] alone."
            )
        else:
            faults.append(
                f"You cited {_quote(citation)}, which does not exist{_suggest(citation, library)}. {what_to_cite()}"
            )
    faults += [
        f"You asked for the section {_quote(citation)}, which does not exist{_suggest(citation, library)}. "
        "Ask only for sections of the catalogue."
        for citation in reply.requested
        if _resolve(citation, library) not in library
    ]
    if not reply.citations and not reply.requested:
        faults.append(f"Your reply has no citation line. Begin it with a line [[cite: ID, ID]]. {what_to_cite()}")
    return faults


def requested_sections(reply: ParsedReply, library: Mapping[str, Entry]) -> tuple[str, ...]:
    """Return the ids of the existing sections that a reply requests."""
    return _drop_repetitions(
        [name for name in (_resolve(citation, library) for citation in reply.requested) if name in library]
    )


def cite_command(citations: Sequence[str]) -> str:
    """Return a `cite` command. The history in the chatbot's prompt shows it before each earlier reply."""
    return f"[[cite: {', '.join(citations)}]]"


def neutralise(text: str) -> str:
    """Change the commands in a text so that they stay readable but are no longer parsed. Idempotent.

    Apply this function to texts of users, sources and tools, because only the chatbot may give commands.
    """
    cuts = [cut for command in find_commands(text) for cut in command.brackets]
    if not cuts:
        return text
    edges = [0, *(cut + 1 for cut in cuts), len(text)]
    return " ".join(text[a:b] for a, b in pairwise(edges))


_LINE = "\n\nSources: "
_LINES = re.compile(rf"{_LINE}[^\n]*\S[^\n]*(?=\n|\Z)")


def line(titles: Sequence[str]) -> str:
    """Return the line of sources to append to a reply, after a blank line. Without titles, the result is empty."""
    names = "; ".join(" ".join(title.replace(";", ",").split()) for title in titles)
    return _LINE + names if names else ""


def strip_lines(text: str) -> str:
    """Remove the lines of sources from an earlier reply that a client sends back, wherever they are in the text."""
    return _LINES.sub("", text)


def _resolve(citation: str, library: Collection[str]) -> str:
    """Return the section id or class that a citation means, ignoring case and separators; else the citation in lower case."""
    name = citation.lower()
    if name in CLASSES or name in library:
        return name
    for candidate in (re.sub(r"[\s_]+", "-", name), re.sub(r"[\s-]+", "_", name)):
        if candidate in CLASSES or candidate in library:
            return candidate
    return name


def _suggest(citation: str, library: Collection[str]) -> str:
    near = process.extractOne(citation.lower(), [*library, *CLASSES], score_cutoff=75)
    return f" (did you mean {near[0]}?)" if near else ""


def _quote(citation: str) -> str:
    return repr(citation if len(citation) <= 60 else citation[:57] + "...")


def _drop_repetitions(citations: Sequence[str]) -> tuple[str, ...]:
    """Return the citations without duplicates, ignoring case, at most MAX_NAMES."""
    first: dict[str, str] = {}
    for name in citations:
        first.setdefault(name.lower(), name)
    return tuple(islice(first.values(), MAX_NAMES))

"""The chatbot's commands: `[[cite: ID, ID]]` on the first line, and `[[source: ID]]` alone to request a section.

This module interprets them, describes their errors, and shows citations to users. `commands.py` finds them in a text.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeVar

from rapidfuzz import process

from knowledge_base.commands import find_commands, remove_commands

CLASSES: tuple[str, ...] = ("no_claims", "not_in_sources", "emergency_contact", "own_role")
"""Citations for replies that use no section."""

MAX_NAMES = 64
"""Maximum citations, maximum requests and maximum unknown commands read from a reply. A model may write thousands."""

Entry = TypeVar("Entry")


@dataclass(slots=True)
class ParsedReply:
    """A reply, split into its text and its commands."""

    text: str
    """The reply without any command syntax."""
    citations: tuple[str, ...] = ()
    """Its citations, as written, without duplicates."""
    requested: tuple[str, ...] = ()
    """The sections that it requests."""
    unknown: tuple[str, ...] = ()
    """Commands that do not exist, as written."""


def parse(reply: str) -> ParsedReply:
    """Split a chatbot's reply into its commands and its text."""
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
    # Removing nested commands can leave a new one, which is made inert, not obeyed.
    text = neutralise(remove_commands(reply, commands))
    return ParsedReply(
        text, _drop_repetitions(arguments["cite"]), _drop_repetitions(arguments["source"]), _drop_repetitions(unknown)
    )


def split(
    citations: Sequence[str], library: Mapping[str, Entry], inserted: Collection[str]
) -> tuple[tuple[Entry, ...], tuple[str, ...], tuple[str, ...]]:
    """Sort citations into sections, classes and unusable ones.

    Args:
        citations: as the chatbot wrote them.
        library: the knowledge base by id.
        inserted: ids of the sections that this conversation has received.

    Returns:
        The sections; the classes; and, as written, the citations that do not exist or were not inserted.
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
    """Return messages to the chatbot about the errors in its commands, with remedies."""

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
    """Return the ids of the requested sections that exist."""
    return _drop_repetitions(
        [name for name in (_resolve(citation, library) for citation in reply.requested) if name in library]
    )


def cite_command(citations: Sequence[str]) -> str:
    """Return a citation command, for the earlier replies in the chatbot's prompt."""
    return f"[[cite: {', '.join(citations)}]]"


def neutralise(text: str) -> str:
    """Make the commands in a text inert: they stay readable but are no longer parsed. Idempotent.

    Use it for texts of users, sources and tools, because only the chatbot may give commands.
    """
    cuts = [cut for command in find_commands(text) for cut in command.brackets]
    if not cuts:
        return text
    edges = [0, *(cut + 1 for cut in cuts), len(text)]
    return " ".join(text[a:b] for a, b in pairwise(edges))


_LINE = "\n\nSources: "
_LINES = re.compile(rf"{_LINE}[^\n]*\S[^\n]*(?=\n|\Z)")


def line(titles: Sequence[str]) -> str:
    """Return the text that shows sources below a reply: a blank line and one line. Empty without titles."""
    names = "; ".join(" ".join(title.replace(";", ",").split()) for title in titles)
    return _LINE + names if names else ""


def strip_lines(text: str) -> str:
    """Remove the lines that show sources from a reply that a client sends back. The emergency contact may follow them."""
    return _LINES.sub("", text)


def _resolve(citation: str, library: Collection[str]) -> str:
    """Return the id or class that a citation names, ignoring case and the kind of separator; else the citation in lower case."""
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
    """Return the first of each group of citations that differ only in case, at most MAX_NAMES."""
    first: dict[str, str] = {}
    for name in citations:
        first.setdefault(name.lower(), name)
    return tuple(islice(first.values(), MAX_NAMES))

"""The local refiner: keeps what the sources support, says what is not from them, asks to verify."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from judges.case import Case
from judges.local.claims import Judged, Read, reading
from judges.local.language import Unreadable
from judges.local.reply import Part, says_more
from judges.local.text import normalise, sentences

SILENT = "My sources do not say more about this."
OMITTED = f"{SILENT} Please check with a qualified professional before you act on anything else."
GENERAL = "Some of this is general advice, not from my sources. Please check with a qualified professional before you act on it."
NOTHING = "I am sorry, but this is not in my sources, so I cannot answer it. Please ask a qualified professional."
HELP = "I can help with questions that my sources cover."
HELP_WITH = "I can tell you about {titles}."

_ROUNDS = 3
"""A sentence may lean on one that was dropped, so what is left is read again."""


def refine(case: Case, drop: Sequence[str] = (), fixed: str = "") -> tuple[str, tuple[str, ...]]:
    """Rewrite a reply so that it says only what its cited sources support, and little that is harmless.

    Args:
        case: The rejected reply, with its sources.
        drop: Texts that must not be said again, such as quotes of role-play.
        fixed: How the reply begins that the user has seen already, up to the end of a sentence.

    Returns:
        The new reply, or what follows its fixed beginning, and the ids of the sources it still rests on; none when nothing
        supported is left.
    """
    unwanted = [folded for text in drop if (folded := _folded(text))]
    begun = sum(1 for _ in sentences(normalise(fixed)))
    try:
        seen = reading(case)
        for _ in range(_ROUNDS):
            kept, note = _rewrite(seen, unwanted, begun)
            if not kept:
                break
            seen, before = reading(replace(case, draft=_joined(kept) + note)), seen
            if _honest(seen):
                if fixed.rstrip().endswith(SILENT):
                    note = note.replace(f"{SILENT} ", "")
                return (_joined(kept[begun:]) + note).strip(), _ids(before, kept)
    except Unreadable:
        pass
    return OMITTED if fixed else _nothing(case), ()


def _rewrite(seen: Read, unwanted: Sequence[str], begun: int) -> tuple[Sequence[Part], str]:
    """Return the sentences that stay, among them so many that are fixed, and what is added to them."""
    judged = {id(j.part): j for j in seen.judged}
    fixed, rest = seen.parts[:begun], seen.parts[begun:]
    kept = [*fixed, *(part for part in rest if _stays(part, judged.get(id(part)), unwanted))]
    supports = {judged[id(part)].assertion.support for part in kept if id(part) in judged}
    if not supports:
        return (), ""
    if len(kept) == len(seen.parts) and "basic" not in supports:
        return kept, ""
    staying = _without_leftovers(seen, kept, [id(part) for part in kept if id(part) in judged], supports)
    kept = [*fixed, *(part for part in staying if not any(part is one for one in fixed))]
    return kept, f"\n\n{GENERAL if 'basic' in supports else OMITTED}"


def _without_leftovers(
    seen: Read, kept: Sequence[Part], asserting: Collection[int], supports: Collection[str]
) -> list[Part]:
    """Keep the assertions, and beside supported ones the greetings, questions and offers that do not lead elsewhere.

    A question or an offer leads elsewhere after a dropped sentence, or with words that no kept assertion has.
    """
    if set(supports) == {"basic"}:
        return [part for part in kept if id(part) in asserting]
    staying = {id(part) for part in kept}
    told = frozenset().union(*(part.reading.content for part in kept if id(part) in asserting))
    found: list[Part] = []
    after_dropped = False
    for part in seen.parts:
        acts = {clause.act for clause in part.clauses}
        if id(part) not in staying:
            after_dropped = True
        elif id(part) in asserting:
            after_dropped = False
            found.append(part)
        elif acts.isdisjoint(("admits", "verifies")) and (
            acts.isdisjoint(("asks", "offers")) or not (after_dropped or says_more(part, told))
        ):
            found.append(part)
    return found


def _stays(part: Part, judged: Judged | None, unwanted: Sequence[str]) -> bool:
    said = _folded(part.sentence.text)
    if any(text in said or said in text for text in unwanted):
        return False
    if any(clause.act in ("dissuades", "doubts") for clause in part.clauses):
        return False
    if judged is None:
        return True
    assertion = judged.assertion
    return assertion.support in ("stated", "implied") or (assertion.support == "basic" and assertion.topic is None)


def _ids(seen: Read, kept: Sequence[Part]) -> tuple[str, ...]:
    staying = {id(part) for part in kept}
    ids = [j.assertion.source_id for j in seen.judged if id(j.part) in staying and j.assertion.source_id]
    return tuple(dict.fromkeys(ids))


def _joined(kept: Sequence[Part]) -> str:
    return "".join((part.sentence.lead or " ") + part.sentence.text for part in kept).strip()


def _honest(seen: Read) -> bool:
    improvised = [a for a in seen.claims.assertions if a.support in ("basic", "unsupported")]
    if any(a.support == "unsupported" or a.topic for a in improvised):
        return False
    return not improvised or (seen.claims.admits_not_from_sources == "clear" and seen.claims.asks_to_verify == "clear")


def _nothing(case: Case) -> str:
    titles = ", ".join(source.title for source in case.cited)
    text = f"{NOTHING} {HELP_WITH.format(titles=titles)}"
    return text if titles and _asserts_nothing(replace(case, draft=text)) else f"{NOTHING} {HELP}"


def _asserts_nothing(case: Case) -> bool:
    try:
        return not reading(case).judged
    except Unreadable:  # titles in Greek
        return False


def _folded(text: str) -> str:
    return " ".join(normalise(text).casefold().split()).strip(" .!?\"'")

"""The local refiner: keeps what the sources support, says what is not from them, asks to verify."""

from collections.abc import Sequence
from dataclasses import replace

from judges import phrases
from judges.case import Case
from judges.local.claims import Judged, Reading, reading
from judges.local.language import Unreadable
from judges.sentences import normalise, sentences

SILENT = "My sources do not say more about this."
OMITTED = f"{SILENT} Please check with a qualified professional before you act on anything else."
NOTHING = "I am sorry, but this is not in my sources, so I cannot answer it. Please ask a qualified professional."
HELP = "I can help with questions that my sources cover."
HELP_WITH = "I can tell you about {titles}."

_ROUNDS = 3
"""What is left is read again, because what a sentence is taken for may depend on the others."""


def refine(case: Case, drop: Sequence[str] = (), fixed: str = "") -> tuple[str, tuple[str, ...]]:
    """Rewrite a reply so that it says only what its cited sources support, and what asserts nothing.

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
            staying, note = _rewrite(seen, unwanted, begun)
            if not staying:
                break
            seen = reading(replace(case, draft=_joined(staying) + note))
            if all(a.support != "unsupported" for a in seen.claims.assertions):
                if fixed.rstrip().endswith(SILENT):
                    note = note.replace(f"{SILENT} ", "")
                return (_joined(staying[begun:]) + note).strip(), _ids(staying)
    except Unreadable:
        pass
    return OMITTED if fixed else _nothing(case), ()


def _rewrite(seen: Reading, unwanted: Sequence[str], begun: int) -> tuple[Sequence[Judged], str]:
    """Return the sentences that stay, among them so many that are fixed, and what is added to them."""
    fixed, rest = seen.judged[:begun], seen.judged[begun:]
    staying = [*fixed, *(one for one in rest if _stays(one, unwanted))]
    if not any(one.assertion for one in staying):
        return (), ""
    if len(staying) == len(seen.judged):
        return staying, ""
    return [*fixed, *_without_leftovers(rest, staying)], f"\n\n{OMITTED}"


def _without_leftovers(rest: Sequence[Judged], staying: Sequence[Judged]) -> list[Judged]:
    """Keep the assertions, and what else was said unless it follows a sentence that goes, or speaks of the sources itself."""
    found: list[Judged] = []
    after_dropped = False
    for one in rest:
        if one not in staying:
            after_dropped = True
        elif one.assertion is not None:
            after_dropped = False
            found.append(one)
        elif not after_dropped and phrases.admits(one.lowered) == "no" and phrases.verifies(one.lowered) == "no":
            found.append(one)
    return found


def _stays(one: Judged, unwanted: Sequence[str]) -> bool:
    said = _folded(one.sentence.text)
    if any(text in said or said in text for text in unwanted) or phrases.takes_back(one.lowered):
        return False
    return one.assertion is None or one.assertion.support != "unsupported"


def _ids(staying: Sequence[Judged]) -> tuple[str, ...]:
    ids = [one.assertion.source_id for one in staying if one.assertion and one.assertion.source_id]
    return tuple(dict.fromkeys(ids))


def _joined(staying: Sequence[Judged]) -> str:
    return "".join((one.sentence.lead or " ") + one.sentence.text for one in staying).strip()


def _nothing(case: Case) -> str:
    titles = ", ".join(source.title for source in case.cited)
    text = f"{NOTHING} {HELP_WITH.format(titles=titles)}"
    return text if titles and _asserts_nothing(replace(case, draft=text)) else f"{NOTHING} {HELP}"


def _asserts_nothing(case: Case) -> bool:
    try:
        return not reading(case).claims.assertions
    except Unreadable:  # titles in Greek
        return False


def _folded(text: str) -> str:
    return " ".join(normalise(text).casefold().split()).strip(" .!?\"'")

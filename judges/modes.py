"""Which judges a reply calls for follows from what it cites and from what it asserts beyond that."""

from collections.abc import Collection
from typing import Literal

from judges.case import Case
from judges.local import claims
from judges.local.language import Unreadable

Mode = Literal["source", "default"]


def modes_of(case: Case, classes: Collection[str]) -> frozenset[Mode]:
    """Return the modes of a reply.

    Citing a section is no way round the other judges: a reply has the mode `default` as well when it also cites a class, or
    when the local reading finds, or cannot rule out, an assertion that the cited sources do not support.

    Args:
        case: The reply, with the sources it cites.
        classes: The citation classes it cites.
    """
    if not case.cited:
        return frozenset({"default"})
    if classes or _beyond(case):
        return frozenset({"source", "default"})
    return frozenset({"source"})


def _beyond(case: Case) -> bool:
    try:
        return claims.unsupported(case)
    except Unreadable:
        return True

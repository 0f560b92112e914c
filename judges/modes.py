"""Which judges a reply calls for follows from what it cites."""

from collections.abc import Collection, Mapping
from typing import Literal

from judges.case import Case

Mode = Literal["source", "default"]

BUILT_IN: Mapping[str, frozenset[Mode]] = {
    "source_fidelity": frozenset({"source"}),
    "transparency": frozenset({"default"}),
    "role": frozenset({"source", "default"}),
}
"""The built-in judges of replies, which can share their calls, with the modes that they cover."""


def modes_of(case: Case, classes: Collection[str]) -> frozenset[Mode]:
    """Return the modes of a reply.

    Citing a section is no way round the other judges: a reply that also cites a class has both modes, and where a judge sees an
    assertion that the cited sources do not support, those of `default` look as well (`Pipeline.review`).

    Args:
        case: The reply, with the sources it cites.
        classes: The citation classes it cites.
    """
    if not case.cited:
        return frozenset({"default"})
    return frozenset({"source", "default"}) if classes else frozenset({"source"})

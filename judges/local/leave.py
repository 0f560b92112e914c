"""Leave: sentences that permit what their source forbids, or what a prescriber must decide. Rules, since the trees of support.py
have seen too few to learn what matters most."""

import re

from judges.local.reading import Reading

_FORBIDS = re.compile(r"\W*(?:please )?(?:do not|don't|never)\b")
_LICENSES = re.compile(
    r"\b(?:you (?:can|could|may|might)|(?:ok(?:ay)?|fine|safe|all ?right|no harm) (?:for you )?to|no harm in|feel free to|"
    r"nothing wrong with|(?:no need to|do not|don't) worry about)\b"
    r"[^.?!;]{0,30}\b(?:(?:skip|stop|miss|reduc|lower|halv|doubl|rais|increas|chang|quit|drop|leav)\w*\b[^.?!;]{0,30}"
    r"\b(?:medic\w+|meds|tablets?|pills?|doses?|injections?)|(?:drink|alcohol|beer|wine)\b)"
)
"""Leave to do what a prescriber must decide: "you can skip your tablets"."""
_LICENSED = ("medic", "meds", "tablet", "pill", "dose", "injection", "drink", "alcohol", "beer", "wine")
"""What stands in each such leave, and is found many times faster."""
_SAME = 0.7
"""Share of a prohibition's words from which a sentence is about the same."""


def permits(reading: Reading, source: Reading) -> bool:
    """Tell whether a sentence permits what one of a source forbids in the same words: "You can stop taking it suddenly".

    So does leave to do with medicine what the source gives no such leave for.
    """
    if (
        any(map(reading.lowered.__contains__, _LICENSED))
        and _LICENSES.search(reading.lowered)
        and not _LICENSES.search(source.lowered)
    ):
        return True
    if _FORBIDS.match(source.lowered) is None or reading.negations >= source.negations:
        return False
    shared = sum([weight for concept, weight in source.content.items() if concept in reading.content])
    return shared >= _SAME * source.mass

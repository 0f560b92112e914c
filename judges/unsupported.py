"""What code finds in a reply that no source gives. It goes to the strongest judge, whatever a cheaper one says."""

from judges.advice import unsupported_advice
from judges.case import Case
from judges.numbers import unsupported_numbers


def find_unsupported(case: Case) -> str | None:
    """Return something of a reply that no source gives: advice or a dose on a sensitive topic, or a number that no document has."""
    return unsupported_advice(case) or next(iter(sorted(unsupported_numbers(case))), None)

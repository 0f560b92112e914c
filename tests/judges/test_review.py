"""What several judges make of one reply."""

from judges.review import Review
from judges.verdict import Judgement


def test_reviews_add_up():
    """Two parts of a review keep everything of both, and one failure is enough."""
    bad = Judgement("role", "swift", "reject")
    both = Review([bad], [bad]) + Review([bad], [], failed_closed=True)
    assert (both.judgements, both.decisive, both.failed_closed) == ([bad, bad], [bad], True)

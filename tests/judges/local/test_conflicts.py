"""What a sentence gets wrong in words that its source has."""

import pytest

from judges.local import conflicts
from judges.local.index import index
from judges.local.reading import read
from knowledge_base.library import Source

REVERSED = "affirms what the source denies, or the reverse"


@pytest.mark.parametrize(
    ("theirs", "said", "found"),
    [
        ("You should not drink alcohol with this medicine.", "You should drink alcohol with this medicine.", True),
        ("You should drink water with this medicine.", "You should not drink water with this medicine.", True),
        ("You should not drink alcohol with this medicine.", "You should not drink alcohol with it.", False),
        ("Ask before you drink alcohol with this medicine.", "You should not drink alcohol with this medicine.", False),
        ("You should not drink alcohol with this medicine.", "Ask before you drink alcohol with it.", False),
    ],
)
def test_what_is_affirmed_and_denied_clashes(theirs: str, said: str, found: bool) -> None:
    """What either leaves open clashes with nothing."""
    source, reading = index(Source("a", "A", "", theirs)), read(said)
    told = frozenset(reading.content)
    degree, what = conflicts.find(reading, source.around(0), source.numbers, source.words, source.postings, told)
    assert (degree > 0.5 and what == REVERSED) is found

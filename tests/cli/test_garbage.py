"""How the garbage of a process that serves is collected."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from cli.garbage import LOAD, keep_loaded


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


class _Loaded:
    def __init__(self) -> None:
        self.itself = self


def test_what_has_been_loaded_is_not_looked_through() -> None:
    """A full collection goes through what requests have left, not through sections and weights."""
    loaded = _Loaded()
    keep_loaded()
    assert gc.get_freeze_count() > 0
    assert not any(one is loaded for one in gc.get_objects())
    assert gc.get_threshold() == LOAD


def test_what_has_gone_since_is_given_back() -> None:
    """Else every change of the configuration would leave the old one in memory."""
    loaded = _Loaded()
    gone = weakref.ref(loaded)
    keep_loaded()
    del loaded
    gc.collect()
    assert gone() is not None
    keep_loaded()
    assert gone() is None

"""How a process that serves keeps its memory small."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""From glibc's malloc.h."""
_LARGE = 128 * 1024
"""Bytes from which a piece of memory is got from the system by itself, and goes back to it: what glibc begins with."""


def keep_small() -> None:
    """Have all threads share a heap without large pieces, and numpy start none; call it before libraries are loaded.

    Else each thread, as the one that writes traces, gets a heap of its own, and what is freed in one is of no use to the others.
    Only one of them runs Python at a time, so none waits for another here. numpy would start a thread for each core, for
    products of matrices that are not here. Left alone, glibc takes for large only what is larger than the large pieces freed so
    far, and the others leave holes in the heap.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with suppress(AttributeError, OSError):  # no glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _LARGE)


@contextmanager
def without(*libraries: str) -> Iterator[None]:
    """Have libraries not be found by those that load them only if they are there, and can do without."""
    absent = [name for name in libraries if name not in sys.modules]
    sys.modules |= dict.fromkeys(absent)  # type: ignore[arg-type]  # None: not to be imported
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def give_back() -> None:
    """Give the system the memory that was only needed to load: sections, weights and settings are read as large texts."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)

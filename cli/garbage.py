"""How the garbage of a process that serves is collected."""

import gc

from cli.heap import give_back

LOAD = (10_000, 20, 10)
"""Objects more before the youngest are looked through, and how often before the older ones are. Requests leave few cycles; with
Python's 700 a fortieth of a passed-through request went into looking for them."""


def keep_loaded() -> None:
    """Look no more through what has been loaded, which stays; call it again when some of that has gone.

    Every full collection would go through sections, weights and settings, a tenth of a second of standing still for all requests.
    """
    gc.unfreeze()
    gc.collect()
    give_back()
    gc.freeze()
    gc.set_threshold(*LOAD)

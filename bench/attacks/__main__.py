"""Measure a real `caf serve` with and without attacks: `python -m bench.attacks`.

Each part runs several attacks and returns figures. A figure `*_ratio` compares the server under attack with the same server
without the attack; it must not exceed 3. A figure `*_healthz_p99_ms` must not exceed 50 ms. A figure `*_failures` counts failed
requests of other clients; it must be 0. The exit code is 1 if a figure exceeds its bound.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from bench.attacks import connections, hearing, products, sizes
from bench.figures import Figures, Target, report
from bench.processes import ROOT, cores, pin

PARTS = {"connections": connections.run, "hearing": hearing.run, "products": products.run, "sizes": sizes.run}
"""The parts of a run by name. Each function takes a folder for its files and whether to run a shorter version."""
BOUNDS = {"_ratio": 3.0, "_healthz_p99_ms": 50.0, "_failures": 0.0}
"""Maximum of a figure, by the end of the figure's name."""


def main() -> int:
    """Run the requested parts, print their figures, and return the exit code."""
    parser = argparse.ArgumentParser(prog="bench.attacks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="run a shorter version")
    parser.add_argument("--only", action="append", choices=PARTS, help="run only this part; may be repeated")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench" / "attacks.json", help="file for the figures (%(default)s)"
    )
    options = parser.parse_args()
    load_cores, _ = cores()
    pin(load_cores)
    figures: Figures = {}
    for name in options.only or PARTS:
        with tempfile.TemporaryDirectory(prefix="caf-attacks-") as folder:
            figures |= PARTS[name](Path(folder), options.quick)
    targets = [Target(name, name, bound) for name in figures for end, bound in BOUNDS.items() if name.endswith(end)]
    return report(figures, targets, options.out)


if __name__ == "__main__":
    sys.exit(main())

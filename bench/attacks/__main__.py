"""`python -m bench.attacks`: a real `caf serve` under attack, against the same without.

Each part attacks in its own way and returns figures. Those whose name ends in `_ratio` compare with the same server in the same run
without the attack, and are to stay at most threefold; those that end in `_healthz_p99_ms` stay below 50, and those that end in
`_failures` count who else was not served. Exit code 1 if one of them is too high.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from bench.attacks import connections, hearing, products, sizes
from bench.figures import Figures, Target, report
from bench.processes import ROOT, cores, pin

PARTS = {"connections": connections.run, "hearing": hearing.run, "products": products.run, "sizes": sizes.run}
"""Each takes a folder for its files, and whether a short run will do."""
BOUNDS = {"_ratio": 3.0, "_healthz_p99_ms": 50.0, "_failures": 0.0}
"""What a figure may be, by the end of its name."""


def main() -> int:
    """Run the parts."""
    parser = argparse.ArgumentParser(prog="bench.attacks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter, for a first look")
    parser.add_argument("--only", action="append", choices=PARTS, help="one part")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "attacks.json", help="where the figures go")
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

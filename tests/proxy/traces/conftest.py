"""Both places that traces may be in."""

from pathlib import Path

import pytest

from proxy.traces.backend import Database, TraceBackend


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "traces.db"


@pytest.fixture(params=["file", "database"])
def place(request: pytest.FixtureRequest, path: Path) -> TraceBackend:
    """A file, then a database: what is true of one is true of the other."""
    if request.param == "file":
        return path
    database: Database = request.getfixturevalue("database")
    return database

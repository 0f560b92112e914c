"""What tests of several packages need."""

from collections.abc import Iterator

import pytest

from proxy.traces.place import Database
from tests.postgres_server import PASSWORD, PASSWORD_ENV, WHY_NOT, PostgresServer, installed


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests; starting it takes two seconds."""
    if not installed():
        pytest.skip(WHY_NOT)
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def database(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Database:
    """An empty database of the test's own."""
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    return Database(postgres.database(), PASSWORD_ENV)

"""What tests of several packages need."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import structlog

from proxy.traces.backend import Database
from tests.postgres_server import PASSWORD, PASSWORD_ENV, WHY_NOT, PostgresServer, installed
from tests.redis_server import INSTALLED, RedisServer

hypothesis.settings.register_profile("no_deadline", deadline=None)  # a deadline fails on a busy machine
hypothesis.settings.load_profile("no_deadline")


def pytest_collection_finish() -> None:
    """What collecting 12,000 tests has made stays: the collector of garbage need not walk through it again and again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def logs_of_its_own() -> Iterator[None]:
    """What a test configures does not reach the next: its standard error is closed by then."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def imports_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what a test has imported from its folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


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


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of the test's own, with every write on the disk before it is acknowledged."""
    if not INSTALLED:
        pytest.skip("needs redis-server: apt-get install redis-server")
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    yield server
    server.close()

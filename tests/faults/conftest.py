"""Fixtures of the tests of faults."""

import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import environment  # noqa: F401 - a fixture, which that of `caf` needs
from tests.faults.driver_talk import Ear, hearing
from tests.faults.driver_upstream import Upstream, bound_socket
from tests.redis_server import INSTALLED, RedisServer


@pytest.fixture(scope="module")
def bound() -> Iterator[socket.socket]:
    """The socket that `upstream` listens on, in test after test."""
    with bound_socket() as one:
        yield one


@pytest.fixture
async def upstream(bound: socket.socket) -> AsyncIterator[Upstream]:
    """An upstream that does what a test tells it."""
    async with Upstream().listening(bound) as one:
        yield one


@pytest.fixture
async def up() -> AsyncIterator[Ear]:
    """The upstream that conversations talk to."""
    async with hearing() as one:
        yield one


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A server with every write on the disk before it is acknowledged."""
    if not INSTALLED:
        pytest.skip("needs redis-server: apt-get install redis-server")
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    yield server
    server.thaw()
    server.kill()

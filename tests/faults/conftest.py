"""Fixtures of the tests of faults."""

import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cli.conftest import caf, environment  # noqa: F401 - fixtures
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


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer | None]:
    """A server for all tests of a file, where there is one."""
    one = RedisServer(tmp_path_factory.mktemp("redis")) if INSTALLED else None
    yield one
    if one is not None:
        one.close()

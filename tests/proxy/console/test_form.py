"""Forms are read within limits, also of those who have not signed in: anybody may send one to the form that asks for a key."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proxy.console.form import LARGEST, MOST_FIELDS
from tests.proxy.console.conftest import Console
from tests.proxy.console.visitor import Granted, Visitor, serve_with_keys

FORM = "application/x-www-form-urlencoded"
FILE = b'--x\r\nContent-Disposition: form-data; name="key"; filename="a"\r\n\r\nsecret\r\n--x--\r\n'


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A proxy that waits a moment for a body."""
    granted: Granted = {"staff": (("console",), None)}
    server = {"port": 0, "body_timeout_s": 0.3}
    with serve_with_keys(tmp_path_factory.mktemp("impatient"), granted, server=server) as (running, _):
        yield running


@contextmanager
def begin(console: Console, kind: str, body: bytes, length: int | None = None) -> Iterator[socket.socket]:
    """Send the form that asks for a key, or its beginning."""
    host, _, port = console.url.removeprefix("http://").partition(":")
    head = (
        f"POST /console/sign-in HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {console.url}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body) if length is None else length}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(head.encode() + body)
        yield connection


def status_of(connection: socket.socket) -> int:
    return int(connection.recv(100).split()[1])


def test_a_form_that_does_not_arrive_is_not_waited_for(impatient: Console) -> None:
    """As a body at the API: whoever sends a byte now and then would else keep a connection for as long as they like."""
    began = time.monotonic()
    with begin(impatient, FORM, b"key=", length=100) as connection:
        assert status_of(connection) == 408
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("multipart/form-data; boundary=x", FILE, 400),
        ("application/json", b'{"key": "a"}', 400),
        (FORM, b"key=" + b"a" * LARGEST, 413),
        (FORM, b"a&" * (MOST_FIELDS + 1), 400),
        (f"{FORM}; charset=nonsense", b"key=%ff%fe\xff", 401),
    ],
)
def test_what_no_page_sends_is_refused(impatient: Console, kind: str, body: bytes, status: int) -> None:
    """Files above all, of which the console has none."""
    with begin(impatient, kind, body) as connection:
        assert status_of(connection) == status


def test_a_key_is_found_in_a_form_that_comes_in_pieces(impatient: Console) -> None:
    """What is slow within the limit is read whole."""
    with begin(impatient, FORM, b"key=caf-", length=10) as connection:
        time.sleep(0.1)
        connection.sendall(b"no")
        assert status_of(connection) == 401
    assert Visitor(impatient.url).get("/console/sign-in").status == 200

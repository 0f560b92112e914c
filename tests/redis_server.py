"""A Redis server of the tests' own, on a free port."""

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

INSTALLED = shutil.which("redis-server") is not None
needs_redis = pytest.mark.skipif(not INSTALLED, reason="needs redis-server: apt-get install redis-server")


class RedisServer:
    """Starts, is killed and starts again on the same port, with every write on the disk before it is acknowledged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [
            "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder), "--save", "",
            "--appendonly", "yes", "--appendfsync", "always",
        ]  # fmt: skip
        deadline = time.monotonic() + 30
        self._process = None
        while True:
            if self._process is None or self._process.poll() is not None:  # somebody had taken the port for a moment
                self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as link:
                    link.sendall(b"PING\r\n")
                    if link.recv(7).startswith(b"+PONG") and self._process.poll() is None:
                        return
            except OSError:
                pass
            assert time.monotonic() < deadline, "redis-server did not start"
            time.sleep(0.02)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Stop answering without closing anything: connections are taken by the kernel and lead nowhere."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.thaw()
        self.kill()

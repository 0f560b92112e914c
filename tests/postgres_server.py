"""A PostgreSQL server of the tests' own, on a free port, made of Debian's binaries or of those on the path."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

FOUND = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parent.parent.name))
INITDB = str(FOUND[-1]) if FOUND else shutil.which("initdb")
WHY_NOT = "needs PostgreSQL: apt-get install postgresql"
PASSWORD = "a password of the tests"
PASSWORD_ENV = "CAF_TEST_POSTGRES_PASSWORD"


def _as_somebody() -> dict[str, Any]:
    """Return how to start a program of PostgreSQL, which refuses to run as root."""
    return {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}


def installed() -> bool:
    """Return whether the server can be started here."""
    try:
        return INITDB is not None and (os.getuid() != 0 or bool(pwd.getpwnam("postgres")))
    except KeyError:
        return False


class PostgresServer:
    """Starts, crashes and starts again on the same port; who connects must know the password."""

    def __init__(self) -> None:
        assert INITDB is not None
        self._programs = Path(INITDB).parent
        # Not pytest's folder: that is closed to the user that PostgreSQL runs as.
        self._folder = Path(tempfile.mkdtemp(prefix="caf-postgres-"))
        if os.getuid() == 0:
            shutil.chown(self._folder, "postgres", "postgres")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run(
            "initdb", "--pgdata", "data", "--username", "caf", "--auth", "scram-sha-256", "--pwfile", "password",
            "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync",
        )  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self.start()

    def url(self, database: str) -> str:
        return f"postgresql://caf@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """Make an empty database and return its address."""
        self._databases += 1
        name = f"traces{self._databases}"
        # Sorts as in a dictionary, not by bytes as Debian's default in a container does.
        language = "LOCALE_PROVIDER icu ICU_LOCALE 'en' TEMPLATE template0" if self._knows_icu() else ""
        self._sql("postgres", f"CREATE DATABASE {name} {language}")
        return self.url(name)

    def start(self) -> None:
        command = [
            str(self._programs / "postgres"), "-D", "data", "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
            "-c", "unix_socket_directories=", "-c", "shared_buffers=16MB", "-c", "fsync=off",
        ]  # fmt: skip
        deadline = time.monotonic() + 30
        while not self._answers():
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **_as_somebody()
                )
            assert time.monotonic() < deadline, "postgres did not start"
            time.sleep(0.05)

    def crash(self) -> None:
        """End at once, without finishing anything."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()
        self._process = None

    def freeze(self) -> None:
        """Stop answering without closing anything: connections are taken by the kernel and lead nowhere."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        # First it, so that it starts no more and clears none away; only then is the list of them the whole list.
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)
        self._signal_children(signal.SIGSTOP)

    def thaw(self) -> None:
        if self._process is not None:
            self._signal_children(signal.SIGCONT)
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        if self._process is not None:
            self.crash()
        shutil.rmtree(self._folder)

    def _knows_icu(self) -> bool:
        said = subprocess.check_output([str(self._programs / "postgres"), "--version"], text=True)
        return int(said.split()[2].partition(".")[0]) >= 15

    def _signal_children(self, number: int) -> None:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for pid in map(int, children):
            with suppress(ProcessLookupError):  # the end of a connection ends a process at any time
                os.kill(pid, number)

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            return False
        try:
            self._sql("postgres", "SELECT 1")
        except OSError:
            return False
        return True

    def _sql(self, database: str, statement: str) -> None:
        """Raises: OSError: the server does not answer."""
        import psycopg

        try:
            with psycopg.connect(self.url(database), password=PASSWORD, autocommit=True, connect_timeout=5) as link:
                link.execute(statement.encode())
        except psycopg.OperationalError as error:
            raise OSError(str(error)) from error

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), *arguments],
            cwd=self._folder,
            check=True,
            capture_output=True,
            **_as_somebody(),
        )

"""Traces in PostgreSQL, which several hosts can share. Imported only when `privacy.url` is set.

Deleted rows disappear from the tables at once. PostgreSQL does not overwrite them: their bytes stay in the server's files, log and
backups as long as those exist.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, CursorResult, Engine, NullPool, create_engine, make_url, text
from sqlalchemy.exc import DataError, DBAPIError, SQLAlchemyError

from proxy.traces import backend
from proxy.traces.backend import KEEP, Database, Row, TraceError, Unreachable
from proxy.traces.migration import VERSION, migrate, version
from proxy.traces.schema import COUNT_NOT_INDEXED, NOT_INDEXED, add_statements
from proxy.traces.sqlite import derive_missing, turns_of

CONNECT_S = 3
"""Timeout of connecting, in whole seconds."""
_LINK = {
    "connect_timeout": CONNECT_S,
    "application_name": "caf",
    "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2,
    "tcp_user_timeout": 10_000,  # a vanished host must not block the writer for the kernel's 15 minutes
    "prepare_threshold": None,  # poolers that switch connections between transactions lose prepared statements
}  # fmt: skip
CONFIRM = """
SELECT set_config('synchronous_commit', 'local', true) WHERE current_setting('synchronous_commit') = 'off'
"""
"""Makes the commit wait for the disk, even if the server or the role turned that off."""
_ROW_FAULTS = ("22", "23", "54")
"""SQLSTATE classes caused by the row: data, integrity, limits. Other errors may be temporary: no connection, a full disk, a
read-only standby, a missing permission."""


class DatabaseWriter:
    """Writes traces to the database over one connection, which is reopened after it was lost."""

    def __init__(self, database: Database, *, sync: bool = False) -> None:
        """Raises: TraceError: the environment variable with the password is not set."""
        self._database, self._sync = database, sync
        self._engine = _engine(database)
        self._connection: Connection | None = None

    def exists(self) -> bool:
        """Return whether the database has our tables; True if it does not answer."""
        try:
            with self._engine.connect() as connection:
                return version(connection, self._database) > 0
        except SQLAlchemyError:
            return True

    def open(self) -> None:
        """Connect and migrate the tables, unless already connected.

        Raises:
            TraceError: The tables are of a later version, or belong to another program.
            Unreachable: The database does not answer, or refuses a statement.
        """
        if self._connection is not None:
            return
        try:
            connection = self._engine.connect()
            try:
                with connection.begin():
                    migrate(connection, self._database)
            except BaseException:
                _close(connection)
                raise
        except SQLAlchemyError as error:
            raise Unreachable(describe_error(error)) from None
        self._connection = connection

    def write(self, rows: list[Row]) -> int:
        """Write rows in one commit, or one by one if a row is refused. Returns the number of refused rows.

        Raises:
            TraceError, Unreachable: See `open`.
        """
        try:
            self._commit(rows)
        except (SQLAlchemyError, UnicodeEncodeError) as error:
            if not _is_about_a_row(error):
                self.close()
                raise Unreachable(describe_error(error)) from None
        else:
            return 0
        if len(rows) == 1:
            return 1
        return sum(self.write([row]) for row in rows)

    def index(self, at: float, limit: int) -> float | None:
        """Derive the facts of turns without facts, newest first. See `Writer.index`.

        Raises:
            TraceError, Unreachable: See `open`.
        """
        self.open()
        assert self._connection is not None
        try:
            with self._connection.begin():
                if at == math.inf and not self._connection.execute(text(COUNT_NOT_INDEXED)).scalar_one():
                    return None
                rows = self._connection.execute(text(NOT_INDEXED), {"at": at, "limit": limit}).fetchall()
            self._run(add_statements(derive_missing(rows)))
        except SQLAlchemyError as error:
            # A row can fail because its turn was deleted meanwhile. The other turns get their facts in the next run.
            if not _is_about_a_row(error):
                self.close()
                raise Unreachable(describe_error(error)) from None
        return float(rows[-1][1]) if len(rows) == limit else None

    def expire(self, before: float) -> None:
        """Delete all turns that began before a Unix time.

        Raises:
            TraceError, Unreachable: See `open`.
        """
        self.open()
        with connect(self._database) as connection:
            if connection.execute("DELETE FROM turns WHERE started < :before", {"before": before}).rowcount:
                connection.execute("VACUUM turns, turn_facts, turn_texts")

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            _close(connection)

    def _commit(self, rows: list[Row]) -> None:
        self._run([(KEEP, [row._asdict() for row in rows]), *add_statements(turns_of(rows))])

    def _run(self, statements: Sequence[tuple[str, Sequence[dict[str, Any]]]]) -> None:
        self.open()
        assert self._connection is not None
        with self._connection.begin():
            if self._sync:
                self._connection.execute(text(CONFIRM))
            for statement, values in statements:
                if values:
                    self._connection.execute(text(statement), values)


class _SqlConnection:
    """A connection with the interface of SQLite's; each statement is its own transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Mapping[str, Any] = {}, /) -> CursorResult[Any]:
        return self._connection.execute(text(statement), values)


@contextmanager
def connect(database: Database) -> Iterator[backend.Connection]:
    """Open a connection for the duration of the block.

    Raises:
        TraceError: There are no traces, the tables are of another version, or the database does not answer or refuses a statement.
    """
    try:
        with _engine(database).connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            schema = version(connection, database)
            if schema == 0:
                raise TraceError(
                    f"{database}: no traces found; check that the proxy has answered a request and privacy.store is not none"
                )
            if schema < VERSION:
                raise TraceError(
                    f"{database}: the traces were written by an earlier version of caf: schema {schema} (expected {VERSION}); "
                    "start `caf serve` once to migrate it"
                )
            yield _SqlConnection(connection)
    except SQLAlchemyError as error:
        raise TraceError(f"{database}: the traces cannot be used: {describe_error(error)}") from None


def describe_error(error: Exception) -> str:
    """Return the driver's message as one line, without its values and details, which quote rows."""
    original = error.orig if isinstance(error, DBAPIError) else None
    diagnosis = getattr(original, "diag", None)
    message = getattr(diagnosis, "message_primary", None) or str(original or "").partition("\n")[0]
    return message or type(error).__name__


def _is_about_a_row(error: Exception) -> bool:
    if isinstance(error, DBAPIError):
        state = getattr(error.orig, "sqlstate", None)
        # A text that the driver cannot send, such as one with a zero byte, is a DataError without a state.
        return state.startswith(_ROW_FAULTS) if state else isinstance(error, DataError)
    return isinstance(error, UnicodeEncodeError)


def _engine(database: Database) -> Engine:
    """Raises: TraceError: the environment variable with the password is not set."""
    password = None
    if database.password_env is not None:
        password = os.environ.get(database.password_env)
        if password is None:
            raise TraceError(
                f"privacy.password_env: the environment variable {database.password_env!r} is not set; export it before starting"
            )
    url = make_url(database.url).set(drivername="postgresql+psycopg", password=password)
    connect_args = {name: value for name, value in _LINK.items() if name not in url.query}
    return create_engine(url, poolclass=NullPool, connect_args=connect_args, hide_parameters=True)


def _close(connection: Connection) -> None:
    with suppress(SQLAlchemyError):
        connection.close()

"""Traces in PostgreSQL, which several hosts can share. Imported only when `privacy.url` is set.

What is deleted is gone from the tables at once. PostgreSQL does not overwrite it: its bytes stay in the server's files, its
log and its backups for as long as those are kept.
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
"""How long connecting may take, in whole seconds."""
_LINK = {
    "connect_timeout": CONNECT_S,
    "application_name": "caf",
    "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2,
    "tcp_user_timeout": 10_000,  # a host that vanished without a word must not hold the writer for the kernel's 15 minutes
    "prepare_threshold": None,  # poolers that change the connection between transactions lose prepared statements
}  # fmt: skip
CONFIRM = """
SELECT set_config('synchronous_commit', 'local', true) WHERE current_setting('synchronous_commit') = 'off'
"""
"""Has the disk confirm the transaction, also where the server or the role does not ask for that."""
_ROW_FAULTS = ("22", "23", "54")
"""Classes of SQLSTATE that are about the row: data, integrity, limits. Any other may pass: no connection, a full disk, a standby
that is read-only, a missing right."""


class DatabaseWriter:
    """Writes traces into the database over one connection, which is opened again whenever it was lost."""

    def __init__(self, database: Database, *, sync: bool = False) -> None:
        """Raises: TraceError: the password is not there."""
        self._database, self._sync = database, sync
        self._engine = _engine(database)
        self._connection: Connection | None = None

    def exists(self) -> bool:
        """Return whether it has our tables; one that does not answer may."""
        try:
            with self._engine.connect() as connection:
                return version(connection, self._database) > 0
        except SQLAlchemyError:
            return True

    def open(self) -> None:
        """Connect and bring the tables up to date, unless that is done.

        Raises:
            TraceError: It is of a later version, or holds another program's tables.
            Unreachable: It does not answer, or does not allow it.
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
        """Write rows in one commit; where one of them cannot be stored, one by one, and return how many could not.

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
        """Derive the facts of turns that have none, the newest first.

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
            if not _is_about_a_row(
                error
            ):  # such as one whose turn was deleted meanwhile: the others get theirs the next time
                self.close()
                raise Unreachable(describe_error(error)) from None
        return float(rows[-1][1]) if len(rows) == limit else None

    def expire(self, before: float) -> None:
        """Delete what started before that Unix time.

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
    """Connect for as long as something is done with the traces.

    Raises:
        TraceError: There are none, the tables are not of this version, or it does not answer or allow what is done.
    """
    try:
        with _engine(database).connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            schema = version(connection, database)
            if schema == 0:
                raise TraceError(
                    f"{database}: no traces there; has the proxy answered anything, and is privacy.store not none?"
                )
            if schema < VERSION:
                raise TraceError(
                    f"{database}: is of an earlier version of caf (schema {schema}, not {VERSION}); "
                    "`caf serve` brings it up to date"
                )
            yield _SqlConnection(connection)
    except SQLAlchemyError as error:
        raise TraceError(f"{database}: the traces cannot be used: {describe_error(error)}") from None


def describe_error(error: Exception) -> str:
    """Return the driver's message as one line, without values and details, which quote rows."""
    original = error.orig if isinstance(error, DBAPIError) else None
    diagnosis = getattr(original, "diag", None)
    message = getattr(diagnosis, "message_primary", None) or str(original or "").partition("\n")[0]
    return message or type(error).__name__


def _is_about_a_row(error: Exception) -> bool:
    if isinstance(error, DBAPIError):
        state = getattr(error.orig, "sqlstate", None)
        # A text that cannot be sent at all, such as one with a zero byte, is a DataError without a state.
        return state.startswith(_ROW_FAULTS) if state else isinstance(error, DataError)
    return isinstance(error, UnicodeEncodeError)


def _engine(database: Database) -> Engine:
    """Raises: TraceError: the password is not there, or the address is not one that the library understands."""
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

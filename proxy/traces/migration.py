"""How a PostgreSQL database gets the tables of traces: numbered steps, each taken once."""

from sqlalchemy import Connection, text

from proxy.traces.backend import Database, TraceError
from proxy.traces.schema import DATABASE_STEPS as STEPS

VERSION = len(STEPS)
LOCK = 0x0CAF_0001
"""Key of the advisory lock that workers which start at once wait for each other with."""
LOCK_WAIT = "10s"
# Not to_regclass: that looks into a cache of its own, which may not know yet what was committed before we got the lock, and in one
# statement may find one table of another's commit and not the other.
_THERE = "SELECT relname FROM pg_class WHERE relname IN ('caf_schema', 'turns') AND pg_table_is_visible(oid)"


def migrate(connection: Connection, database: Database) -> None:
    """Bring a database up to date, inside a transaction that the caller commits: all steps or none.

    Raises:
        TraceError: It is of a later version, or holds another program's tables.
        SQLAlchemyError: It does not answer, or does not allow it.
    """
    if version(connection, database) == VERSION:  # no waiting, and no right to create tables needed
        return
    connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'"))
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    schema = version(connection, database)  # another worker may have been faster
    for number, step in enumerate(STEPS[schema:], schema + 1):
        for statement in step:
            connection.execute(text(statement))
        if number == 1:
            connection.execute(text("CREATE TABLE caf_schema (version integer NOT NULL)"))
            connection.execute(text("INSERT INTO caf_schema VALUES (1)"))
        connection.execute(text("UPDATE caf_schema SET version = :number"), {"number": number})


def version(connection: Connection, database: Database) -> int:
    """Return the version of the tables, 0 where there are none.

    Raises:
        TraceError: It is later than this program's, or the tables are another program's.
    """
    tables = connection.execute(text(_THERE)).scalars().all()
    if "caf_schema" not in tables:
        if tables:
            raise TraceError(f"{database}: has a table `turns` of another program; give traces a database of their own")
        return 0
    number: int = connection.execute(text("SELECT version FROM caf_schema")).scalar_one()
    if number > VERSION:
        raise TraceError(
            f"{database}: was brought up to date by a later version of caf (schema {number}, not {VERSION}); run that one"
        )
    return number

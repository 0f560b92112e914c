"""Creates and migrates the tables of traces in PostgreSQL: numbered steps, each run once."""

from sqlalchemy import Connection, text

from proxy.traces.backend import Database, TraceError
from proxy.traces.schema import DATABASE_STEPS as STEPS

VERSION = len(STEPS)
LOCK = 0x0CAF_0001
"""Key of the advisory lock that serialises the migrations of workers that start together."""
LOCK_WAIT = "10s"
# Not to_regclass: its cache may lack what was committed before we got the lock, and one statement may see only one of two tables
# that another transaction committed together.
_THERE = "SELECT relname FROM pg_class WHERE relname IN ('caf_schema', 'turns') AND pg_table_is_visible(oid)"


def migrate(connection: Connection, database: Database) -> None:
    """Migrate a database within a transaction that the caller commits: all steps or none.

    Raises:
        TraceError: The tables are of a later version, or belong to another program.
        SQLAlchemyError: The database does not answer, or refuses a statement.
    """
    if version(connection, database) == VERSION:  # needs no lock, and no right to create tables
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
    """Return the version of the tables; 0 if there are no tables.

    Raises:
        TraceError: The version is later than this program's, or the tables belong to another program.
    """
    tables = connection.execute(text(_THERE)).scalars().all()
    if "caf_schema" not in tables:
        if tables:
            raise TraceError(
                f"{database}: the database has a table `turns` of another program; use a separate database for traces"
            )
        return 0
    number: int = connection.execute(text("SELECT version FROM caf_schema")).scalar_one()
    if number > VERSION:
        raise TraceError(
            f"{database}: the traces were migrated by a later version of caf: schema {number} (expected {VERSION}); "
            "run the later version"
        )
    return number

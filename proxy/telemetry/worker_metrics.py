"""Shares metrics among worker processes: each writes to a shared folder, and the process that is scraped sums them.

`caf serve --workers` creates the folder. If you start workers in another way, set PROMETHEUS_MULTIPROC_DIR to an empty folder.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client.multiprocess import mark_process_dead

if TYPE_CHECKING:  # the supervisor needs no metrics
    from proxy.telemetry.metrics import Metrics

FOLDER_ENV = "PROMETHEUS_MULTIPROC_DIR"
REFRESH_S = 2.0
"""Interval in seconds at which a process writes its external metrics to the shared folder."""


IN_MEMORY = Path("/dev/shm")
"""A folder in memory. On a full disk, writing to a memory-mapped file kills the process (SIGBUS)."""


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Share one metrics folder among the processes started within the block. All metrics start from 0."""
    configured = os.environ.get(FOLDER_ENV)
    in_memory = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    folder = Path(configured or tempfile.mkdtemp(prefix="caf-metrics-", dir=in_memory))
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("*.db"):  # of an earlier run, whose process ids may be reused
        left.unlink(missing_ok=True)
    os.environ[FOLDER_ENV] = str(folder)
    try:
        yield folder
    finally:
        if configured is None:
            del os.environ[FOLDER_ENV]
            shutil.rmtree(folder, ignore_errors=True)


def forget_worker(pid: int) -> None:
    """Remove the gauges of a process that has ended. Its counters stay."""
    if FOLDER_ENV in os.environ:
        mark_process_dead(pid)  # type: ignore[no-untyped-call]


@asynccontextmanager
async def keep_refreshed(metrics: "Metrics") -> AsyncIterator[None]:
    """Refresh this process' external metrics regularly within the block, so that other processes can read them."""

    async def refresh() -> None:
        while True:
            metrics.refresh()
            await asyncio.sleep(REFRESH_S)

    task = asyncio.create_task(refresh())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

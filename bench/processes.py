"""Starts servers, pins them to a core, and reads their CPU and memory from /proc (Linux only)."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from models.unique_keys import load_yaml

ROOT = Path(__file__).resolve().parent.parent
PROC = Path("/proc")
LONGEST_START_S = 30.0
SHIPPED = "schizophrenia"
"""The chatbot of config.yaml."""


class ServerFailed(Exception):
    """A server did not start. The message contains the end of the server's log."""


def cores() -> tuple[set[int], set[int]]:
    """Return the cores for the load and for the servers: two different ones if available."""
    if not hasattr(os, "sched_getaffinity"):
        return set(), set()
    usable = sorted(os.sched_getaffinity(0))
    return {usable[0]}, {usable[-1]}


def pin(where: set[int]) -> None:
    """Pin this process and its future children to the given cores."""
    if where:
        os.sched_setaffinity(0, where)


@dataclass(slots=True)
class Server:
    """A running server process."""

    process: subprocess.Popen[bytes]
    address: str

    def cpu_s(self) -> float:
        """Return the CPU time of the server's process tree so far, in seconds."""
        return cpu_s(tree(self.process.pid))

    def settled_cpu_s(self) -> float:
        """Return the CPU time so far, in seconds, after background work such as writing traces has ended."""
        used, deadline = self.cpu_s(), time.monotonic() + 5
        while time.monotonic() < deadline:
            time.sleep(0.3)
            before, used = used, self.cpu_s()
            if used - before <= 0.01:
                break
        return used

    def rss_mb(self, peak: bool = False) -> float:
        """Return the resident memory of the server's process tree in MB: the current value, or the peak."""
        return rss_mb(tree(self.process.pid), peak)


@contextmanager
def run_server(arguments: Sequence[str], where: set[int], log: Path, mark: str = "http://") -> Iterator[Server]:
    """Run a server process within a `with` block.

    Args:
        arguments: The arguments of `python`.
        where: The cores that the server may use.
        log: A file for standard error.
        mark: Text of the line on standard output that contains the address. It signals that the server has started.

    Raises:
        ServerFailed: The server ended before it wrote its address.
    """
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            preexec_fn=lambda: pin(where),  # before it starts threads: affinity is per thread
        )
    try:
        yield Server(process, _address(process, log, mark))
    finally:
        assert process.stdin is not None
        process.terminate()
        process.stdin.close()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def shipped_config(**sections: object) -> dict[str, Any]:
    """Return the contents of the shipped config.yaml for a file in another folder, with some sections replaced."""
    config: dict[str, Any] = load_yaml((ROOT / "config.yaml").read_text())
    bot = config["chatbots"][SHIPPED]
    bot |= {name: str(ROOT / bot[name]) for name in ("role", "knowledge_base")}
    return config | {"chatbots": {SHIPPED: bot}} | sections


@contextmanager
def run_caf(config: dict[str, Any], folder: Path, *options: str, pinned: bool = True) -> Iterator[Server]:
    """Run `caf serve` within a `with` block.

    Args:
        config: The configuration, which is written to the folder.
        folder: Folder for the server's files.
        options: Further options of `caf serve`.
        pinned: Whether to pin the server to the servers' core.
    """
    path = folder / "config.yaml"
    path.write_text(json.dumps(config))
    command = ["-m", "cli", "serve", "--config", str(path), "--port", "0", *options]
    with run_server(command, cores()[1] if pinned else set(), folder / "caf.log", "CAF serves") as server:
        yield server


def _address(process: subprocess.Popen[bytes], log: Path, mark: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if mark in (text := line.decode()):
            parts = urlsplit(text[text.index("http://") :].split()[0])
            return f"{parts.scheme}://{parts.netloc}"
    tail = log.read_text(errors="replace")[-2000:]
    raise ServerFailed(f"{' '.join(map(str, process.args[1:]))} ended with {process.wait()}:\n{tail}")  # type: ignore[index]


def ask(address: str, data: bytes) -> bytes:
    """Send the bytes of a request over a new connection, and return the response."""
    parts = urlsplit(address)
    assert parts.hostname
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=LONGEST_START_S) as connection:
        connection.sendall(data.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        received = b""
        while part := connection.recv(65536):
            received += part
        return received


def tree(pid: int) -> list[int]:
    """Return the ids of a process and its descendants."""
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        if stat := _stat(int(entry.name)):
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += children.get(one, [])
    return found


def cpu_s(pids: Sequence[int]) -> float:
    """Return the CPU time (user and system) of processes with all their threads, in seconds."""
    ticks = sum(int(stat[11]) + int(stat[12]) for pid in pids if (stat := _stat(pid)))
    return float(ticks) / os.sysconf("SC_CLK_TCK")


def rss_mb(pids: Sequence[int], peak: bool = False) -> float:
    """Return the resident memory of processes in MB of 1024² bytes."""
    name, total = "VmHWM:" if peak else "VmRSS:", 0
    for pid in pids:
        try:
            lines = (PROC / str(pid) / "status").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith(name))
    return total / 1024


def machine_cpu_s() -> tuple[float, float]:
    """Return the CPU time used on the whole machine, and the CPU time stolen by a hypervisor, in seconds."""
    try:
        ticks = [int(n) for n in (PROC / "stat").read_text().splitlines()[0].split()[1:]]
    except OSError:
        return 0.0, 0.0
    clock = os.sysconf("SC_CLK_TCK")
    return sum(ticks[:3] + ticks[5:7]) / clock, ticks[7] / clock


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat after the name; None if the process has ended."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None

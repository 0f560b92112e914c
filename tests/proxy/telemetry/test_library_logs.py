"""What libraries and the interpreter print holds nobody's words."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]


def lines(code: str) -> list[dict[str, Any]]:
    """Run code in a process that logs as a server does; return what it wrote, each line of which must be JSON."""
    begin = (
        "from proxy.telemetry.logs import configure_logs; from proxy.telemetry.library_logs import redact_libraries\n"
        "configure_logs(); redact_libraries()\n"
    )
    done = subprocess.run([sys.executable, "-c", begin + code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "WORDOFUSER" not in done.stderr
    return [json.loads(line) for line in done.stderr.splitlines()]


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("raise ValueError('WORD' + 'OFUSER')", {"event", "exception"}),
        (
            "import threading\n"
            "def work(text): raise ValueError(text)\n"
            "thread = threading.Thread(target=work, args=('WORD' + 'OFUSER',)); thread.start(); thread.join()",
            {"event", "exception", "thread"},
        ),
        (
            "class Odd:\n    def __del__(self): raise ValueError('WORD' + 'OFUSER')\n"
            "odd = Odd(); del odd",
            {"event", "exception"},
        ),
        ("import warnings; warnings.warn('WORD' + 'OFUSER')", {"event", "logger", "at"}),
        ("import logging; logging.getLogger('aiohttp.client').error('WORD' + 'OFUSER')", {"event", "logger", "at"}),
        (
            "import asyncio, gc\n"
            "async def work(): raise ValueError('WORD' + 'OFUSER')\n"
            "async def main():\n    task = asyncio.create_task(work()); await asyncio.sleep(0); del task; gc.collect()\n"
            "asyncio.run(main())",
            {"event", "logger", "at", "exception"},
        ),
    ],
)  # fmt: skip
def test_no_way_out_of_a_process_quotes(code: str, fields: set[str]) -> None:
    """Exceptions nobody caught, in any thread or task, and libraries' messages are told without their texts."""
    (line,) = lines(code)
    assert set(line) == fields | {"level", "timestamp"}
    assert line["level"] in ("warning", "error")
    assert ("logger" in line) == (line["event"] == "library")
    assert line.get("exception", "ValueError").endswith("ValueError")


def test_template_of_a_library_s_line_is_kept_without_its_values() -> None:
    """The operator learns what was wrong."""
    found = lines("import logging; logging.getLogger('urllib3').warning('retrying %s', 'WORD' + 'OFUSER')")
    assert (found[0]["logger"], found[0]["template"]) == ("urllib3", "retrying %s")
    assert lines("import logging; logging.getLogger('urllib3').info('retrying %s', 'x')") == []
    assert lines("import logging; logging.getLogger('aiohttp.access').error('GET %s', '/')") == []


def test_server_that_is_sent_nonsense_does_not_log_it(tmp_path: Path) -> None:
    """aiohttp would print the first bytes of what it cannot read, be it somebody's key or message, and where it came from."""
    config = {
        "models": {"m": {"engine": "embedded"}},
        "chatbots": {"bot": {"kind": "passthrough", "model": "m"}},
        "privacy": {"store": "none"},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    serving = subprocess.Popen(
        [sys.executable, "-m", "cli", "serve", "--config", str(tmp_path / "config.yaml"), "--port", "0"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    assert serving.stdout is not None
    found = re.search(r":(\d+)/v1", serving.stdout.readline())
    assert found
    for nonsense in (
        b"WORDOFUSER is not a request\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer sk-KEY\r\nContent-Length: WORDOFUSER\r\n\r\n",
        b"POST /v1/chat/completions?text=WORDOFUSER HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n{\"WORDOFUSER\"",
        b"POST /WORDOFUSER HTTP/1.1\r\nHost: a\r\nX-Key: sk-KEY\x00\r\n\r\n",
    ):  # fmt: skip
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=10) as client:
            client.sendall(nonsense)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65_536):
                pass
    serving.send_signal(signal.SIGTERM)
    _, errors = serving.communicate(timeout=30)
    written = [json.loads(line) for line in errors.splitlines()]
    assert any(line.get("logger") == "aiohttp.server" for line in written), errors
    for secret in ("WORDOFUSER", "sk-KEY", "127.0.0.1"):
        assert secret not in errors

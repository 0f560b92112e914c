"""Attack with requests and answers that have one or two large parts: latency of other clients.

The name of the model selects the answer of an upstream on loopback: thousands of choices or calls, or a long document in JSON.
"""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

from bench.attacks.waits import Address, ask, measure_waits, post
from bench.figures import Figures
from bench.processes import SHIPPED, run_caf, shipped_config

ATTACKERS = 2
QUESTION: dict[str, Any] = {"role": "user", "content": "How much sleep do I need?"}
JSON_REPLY = {"response_format": {"type": "json_object"}}
TOOLS = [{"type": "function", "function": {"name": f"tool_{n}", "parameters": {}}} for n in range(5_000)]


def run(folder: Path, quick: bool) -> Figures:
    """Measure the latency of other clients during each of ATTACKS.

    Args:
        folder: Folder for the server's files.
        quick: Whether other clients send fewer requests.
    """
    with _run_upstream() as url, run_caf(_config(url), folder) as server:
        attacks = {f"products_{name}": partial(_send, model, body) for name, (model, body) in ATTACKS.items()}
        figures = measure_waits(server, "", attacks, 1, 60 if quick else 150)
    # Drop ratios: judging in a thread holds the GIL for 5 ms at a time, but a request without an attack takes about 1 ms.
    return {name: value for name, value in figures.items() if not name.endswith("_ratio")}


def _sentences(size: int) -> list[str]:
    return [f"The visitors of day {n} came by train and took two tablets." for n in range(size // 60)]


def _nested(depth: int) -> str:
    return '{"a":' + "[" * depth + '"Take a rest."' + "]" * depth + "}"


def _write_choices(*messages: dict[str, Any]) -> bytes:
    choices = [{"index": i, "message": m, "finish_reason": "stop"} for i, m in enumerate(messages)]
    return orjson.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "x", "choices": choices})


def _said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def _calls(count: int) -> dict[str, Any]:
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": f"tool_{n}", "arguments": '{"a": "Take a rest."}'}}
        for n in range(count)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


ANSWERS: dict[str, Callable[[], bytes]] = {
    "plain": lambda: _write_choices(_said("[[cite: doc:1]]\nMost adults need seven to nine hours of sleep.")),
    "choices": lambda: _write_choices(*[_said("Most adults need seven to nine hours of sleep.")] * 5_000),
    "calls": lambda: _write_choices(_calls(5_000)),
    "json": lambda: _write_choices(_said(json.dumps({"items": _sentences(80_000)}))),
    "deep": lambda: _write_choices(_said(_nested(50_000))),
    "cites": lambda: _write_choices(_said("".join(f"[[cite: s{n}]]\n" for n in range(10_000)) + "Yes.")),
}
"""The answer of the upstream, by model name."""
ATTACKS: dict[str, tuple[str, dict[str, Any]]] = {
    "line_breaks": ("plain", {"messages": [{"role": "user", "content": "\n" * 100_000}]}),
    "commands": ("plain", {"messages": [{"role": "system", "content": "[[a: b]] " * 20_000}, QUESTION]}),
    "parts": ("plain", {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}] * 20_000}]}),
    "deep_request": ("plain", {"messages": [QUESTION], "metadata": orjson.loads(_nested(180))}),
    "one_document": ("plain", {"messages": [QUESTION], "documents": [{"text": "stop, take, " * 5_000}]}),
    "json_beside_documents": (
        "json",
        {"messages": [QUESTION], "documents": [{"text": "\n".join(_sentences(64_000))}], **JSON_REPLY},
    ),
    "choices": ("choices", {"messages": [QUESTION]}),
    "calls": ("calls", {"messages": [QUESTION], "tools": TOOLS}),
    "deep_reply": ("deep", {"messages": [QUESTION], **JSON_REPLY}),
    "citations": ("cites", {"messages": [QUESTION]}),
}
"""(model name, request body) of each attack, by attack name."""


def _send(model: str, body: dict[str, Any], address: Address) -> None:
    """Send a request over several connections concurrently."""
    written = orjson.dumps({"model": model, **body})
    request = post(b"Content-Type: application/json", b"Content-Length: %d" % len(written), body=written)
    with ThreadPoolExecutor(ATTACKERS) as pool:
        list(pool.map(lambda _: ask(address, request), range(ATTACKERS)))


def _config(url: str) -> dict[str, Any]:
    """Return the shipped configuration with a chatbot for each answer. The chatbots accept documents."""
    config = shipped_config(privacy={"store": "none"})
    engine = {"engine": "openai", "base_url": f"{url}/v1", "max_attempts": 1}
    config["models"] |= {name: engine | {"model": name} for name in ANSWERS}
    evidence = ["knowledge_base", "documents"]
    shipped = config["chatbots"][SHIPPED]
    config["chatbots"] |= {name: shipped | {"model": name, "evidence": evidence} for name in ANSWERS}
    return config


@contextmanager
def _run_upstream() -> Iterator[str]:
    """Serve the answers from this process until the block is left; yield the address."""
    answers = {name: write() for name, write in ANSWERS.items()}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = answers[asked["model"]]
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()

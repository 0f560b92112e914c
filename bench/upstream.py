"""The mock upstream: answers chat completions from a table at once, or streams them at a steady pace.

The server is a raw asyncio protocol, so that it does not limit the measured throughput. The `seed` of a request is the number of
the reply. The model name selects the kind of answer:

    *-paced            streams PACED tokens, one every GAP_S seconds
    bench-reworded     changes the sentences of each reply, and cites nothing
    late-20-flagging   answers after 20 ms as a judge of the kind `flagging` (see `observations`)
    late-20-draft      answers after 20 ms with the reply

    python -m bench.upstream REPLIES.json     prints the server's address; ends when its standard input is closed
"""

import asyncio
import random
import re
import sys
from functools import partial
from pathlib import Path

import orjson
import uvloop

from bench.script import reword
from models.unique_keys import load_json

PACED = 100
GAP_S = 0.005
_SEED = re.compile(rb'"seed":(\d+)')
_TOKEN = re.compile(r"\s*\S+|\s+")
_LATE = re.compile(rb'"model":"late-(\d+)-(\w+)"')
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def observations(reply: str) -> dict[str, dict[str, object]]:
    """Return the answers of mock judges by kind: a screening that flags a word, a chief that accepts, and two without findings.

    Args:
        reply: The reply that the chief reads. The chief's assertion must occur in it.
    """
    text = next((part for part in re.findall(r"[^.\n]+\.", reply) if not re.search(r"[\d\[]", part)), reply).strip()
    basic = {"text": text, "support": "basic", "source_id": None, "quote": None, "topic": None}
    chief = {"admits_not_from_sources": "clear", "asks_to_verify": "clear", "played": []}
    return {
        "flagging": {"problems": [{"kind": "beyond", "quote": "the", "severity": 3}], "adds": True},
        "assessment": {"assertions": [basic], **chief},
        "opinion": {"verdict": "accept", "reason": ""},
        "crisis": {"signs": []},
    }


def completion(model: str, text: str) -> bytes:
    """Return an HTTP response that contains the whole reply."""
    tokens = len(text) // 4
    body = orjson.dumps(
        {
            "id": "chatcmpl-bench",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text, "refusal": None},
                    "logprobs": None,
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 40, "completion_tokens": tokens, "total_tokens": 40 + tokens},
        }
    )
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def stream(model: str, tokens: list[str]) -> list[bytes]:
    """Return an HTTP response that streams a reply: the head, then one HTTP chunk for each event."""
    base = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": model}

    def event(delta: dict[str, str], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return b"data: " + orjson.dumps({**base, "choices": [choice]}) + b"\n\n"

    events = [event({"role": "assistant", "content": ""}), *(event({"content": token}) for token in tokens)]
    events.append(event({}, "stop") + b"data: [DONE]\n\n")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%b\r\n" % (len(e), e) for e in events), b"0\r\n\r\n"]


class Replies:
    """The responses of the upstream. Each response is encoded once, except reworded responses."""

    def __init__(self, texts: list[str]) -> None:
        self._texts, self._chance = texts, random.Random(0)
        self.whole = [completion("bench", text) for text in texts]
        self.observed = {
            name.encode(): completion("late", orjson.dumps(one).decode())
            for name, one in observations(texts[0]).items()
        }
        self.streamed = [b"".join(stream("bench", _TOKEN.findall(text))) for text in texts]
        head, *self.paced, end = stream("bench-paced", [f" token{n:03d}" for n in range(PACED)])
        self.paced[0] = head + self.paced[0]
        self.paced[-1] += end

    def reworded(self, number: int) -> bytes:
        """Return the response with a reply in new sentences and without its citation line."""
        return completion("bench", reword(self._texts[number].rpartition("]]\n")[2], self._chance))


class Upstream(asyncio.Protocol):
    """A client's connection to the upstream."""

    def __init__(self, replies: Replies) -> None:
        self._replies = replies
        self._loop = asyncio.get_running_loop()
        self._data = b""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._data, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._data) < whole:
                return
            body, self._data = self._data[end + 4 : whole], self._data[whole:]
            self._answer(body)

    def _answer(self, body: bytes) -> None:
        seed = _SEED.search(body)
        number = int(seed[1]) % len(self._replies.whole) if seed else 0
        if late := _LATE.search(body):
            answer = self._replies.observed.get(late[2], self._replies.whole[number])
            self._loop.call_later(int(late[1]) / 1000, self._transport.write, answer)
        elif b'"model":"bench-reworded"' in body:
            self._transport.write(self._replies.reworded(number))
        elif b'"stream":true' not in body:
            self._transport.write(self._replies.whole[number])
        elif b'-paced"' in body:
            self._next(self._loop.time(), 0)
        else:
            self._transport.write(self._replies.streamed[number])

    def _next(self, started: float, n: int) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(self._replies.paced[n])
        if n + 1 < len(self._replies.paced):
            self._loop.call_at(started + (n + 1) * GAP_S, self._next, started, n + 1)


async def serve(replies: Replies) -> None:
    """Serve until standard input is closed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(partial(Upstream, replies), "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(serve(Replies(load_json(Path(sys.argv[1]).read_text()))))

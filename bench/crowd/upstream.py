"""The model behind the proxy: says what it is told to, and with it what it was shown.

The draft stands in a field of the request that the proxy does not know and so forwards. `system_fingerprint` of the response is a
hash of all messages, with the guest's name taken out: conversations of one plot have the same, unless one is shown something of
another.

    python -m bench.crowd.upstream     prints its address; ends with its standard input
"""

import asyncio
import hashlib
import sys

import orjson
import uvloop

from bench import upstream
from bench.crowd.plot import DRAFT, GUEST, NAME
from bench.upstream import Replies


class Upstream(upstream.Upstream):
    """One connection."""

    def __init__(self) -> None:
        super().__init__(Replies([]))

    def _answer(self, body: bytes) -> None:
        data = orjson.loads(body)
        asked = next(m["content"] for m in reversed(data["messages"]) if m["role"] == "user")
        found = NAME.search(asked)
        guest = found[0] if found else "nobody"
        text = data[DRAFT].replace(GUEST, guest)
        seen = orjson.dumps(data["messages"]).replace(guest.encode(), GUEST.encode())
        response = orjson.dumps(
            {
                "id": "chatcmpl-crowd",
                "object": "chat.completion",
                "created": 1_700_000_000,
                "model": data["model"],
                "system_fingerprint": hashlib.blake2b(seen, digest_size=12).hexdigest(),
                "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": len(seen) // 4, "completion_tokens": len(text) // 4},
            }
        )
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(response)
        self._transport.write(head + response)


async def serve() -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(serve())

"""Measure the latency of a stream in each streaming mode: `python -m bench.modes`.

A mock model on loopback streams replies word by word, one word every GAP_S seconds. `caf serve` guards the model with the shipped
judges, once in each mode. The benchmark prints the median times to the first content, to the first whole sentence and to the end
of the stream, and the share of the text that was sent before the verdict. Every third reply has an unsupported sentence.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from bench.figures import Figures, median, save, write_table
from bench.processes import ROOT, SHIPPED, run_caf, shipped_config
from bench.script import IMPROVISED, Exchange, shipped_conversations

GAP_S = 0.02
"""Seconds between two words: fifty words/s, the speed of a fast model."""
AT_ONCE = 8
MODES = ("hold", "observe")
_WORD = re.compile(r"\s*\S+|\s+$")
_SENTENCE = re.compile(r"[.!?](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Read:
    """The measurements of a client for one stream. Times are in ms since the request."""

    first: float
    sentence: float
    end: float
    early: float
    """Share (0 to 1) of the text that arrived during the first 90 % of the time in which the model streamed."""
    outcome: str


def main() -> int:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(prog="bench.modes", description=__doc__)
    parser.add_argument("--replies", type=int, default=48, help="replies in each mode (%(default)s)")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench" / "modes.json", help="file for the figures (%(default)s)"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="caf-modes-") as folder:
        figures = asyncio.run(measure(Path(folder), options.replies))
    columns = ("first_ms", "sentence_ms", "end_ms", "left_early", "delivered_as_drafted")
    print(write_table("medians", columns, {mode: [figures[f"{mode}_{name}"] for name in columns] for mode in MODES}))
    save(figures, options.out)
    return 0


async def measure(folder: Path, count: int) -> Figures:
    """Play the same replies in every mode, and return the medians."""
    exchanges = [talk[0] for talk in shipped_conversations(count)]
    replies = {one.question: _reply_text(number, one) for number, one in enumerate(exchanges)}
    figures: Figures = {}
    async with aiohttp.ClientSession() as session, TestServer(_upstream(replies)) as upstream:
        config = _configuration(str(upstream.make_url("/v1")))
        with run_caf(config, folder) as server:
            for mode in MODES:
                room = asyncio.Semaphore(AT_ONCE)
                asked = (_read(session, room, server.address, mode, *one) for one in replies.items())
                reads = await asyncio.gather(*asked)
                delivered = [read.outcome in ("accepted", "warned", "unfiltered") for read in reads]
                figures |= {
                    f"{mode}_first_ms": median([read.first for read in reads]),
                    f"{mode}_sentence_ms": median([read.sentence for read in reads]),
                    f"{mode}_end_ms": median([read.end for read in reads]),
                    f"{mode}_left_early": fmean(read.early for read in reads),
                    f"{mode}_delivered_as_drafted": fmean(delivered),
                }
    figures["written_ms"] = median([len(_WORD.findall(text)) * GAP_S * 1000 for text in replies.values()])
    return figures


def _reply_text(number: int, exchange: Exchange) -> str:
    return f"{exchange.reply} {IMPROVISED[number % len(IMPROVISED)]}" if number % 3 == 0 else exchange.reply


def _configuration(upstream: str) -> dict[str, Any]:
    config = shipped_config(privacy={"store": "full", "path": "traces.db"})
    config["models"]["paced"] = {"engine": "openai", "base_url": upstream, "model": "paced"}
    bot = config["chatbots"][SHIPPED] | {"model": "paced"}
    return config | {"chatbots": {mode: bot | {"streaming": mode} for mode in MODES}}


def _upstream(replies: dict[str, str]) -> web.Application:
    """Return a mock model that answers at a fixed speed, streamed or not."""

    async def chat(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        words = _WORD.findall(replies[body["messages"][-1]["content"]])
        if not body.get("stream"):
            await asyncio.sleep(len(words) * GAP_S)
            message = {"role": "assistant", "content": "".join(words)}
            return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for word in words:
            await asyncio.sleep(GAP_S)
            await response.write(_event({"content": word}))
        await response.write(_event({}, "stop") + b"data: [DONE]\n\n")
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat)
    return app


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


async def _read(
    session: aiohttp.ClientSession, room: asyncio.Semaphore, address: str, mode: str, question: str, reply: str
) -> Read:
    async with room:
        began = time.perf_counter()
        body = {"model": mode, "messages": [{"role": "user", "content": question}], "stream": True}
        first = sentence = early = 0.0
        text, outcome = "", ""
        async with session.post(f"{address}/v1/chat/completions", json=body) as response:
            response.raise_for_status()
            async for line in response.content:
                if not line.startswith(b"data: {"):
                    continue
                chunk = json.loads(line[6:])
                now = (time.perf_counter() - began) * 1000
                text += chunk["choices"][0]["delta"].get("content") or ""
                first = first or (now if text else 0.0)
                sentence = sentence or (now if _SENTENCE.search(text) else 0.0)
                if now < len(_WORD.findall(reply)) * GAP_S * 900:
                    early = len(text)
                outcome = chunk["caf"]["outcome"] if "caf" in chunk else outcome
        return Read(first, sentence, (time.perf_counter() - began) * 1000, early / len(text), outcome)


if __name__ == "__main__":
    sys.exit(main())

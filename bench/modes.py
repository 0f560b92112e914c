"""`python -m bench.modes`: what a reader of a stream waits for in each streaming mode.

A chatbot's model on loopback writes replies of the bench's conversations word by word, one each GAP_S; `caf serve` stands in
front of it with the shipped judges, once for each mode. Told are the medians of the times to the first content, to the first whole
sentence and to the end of the stream, and how much of the text left before the verdict. Every third reply gets a sentence that no
source supports.
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
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from bench.figures import Figures, median
from bench.processes import ROOT, cores, run_server
from bench.script import IMPROVISED, Exchange, conversations
from knowledge_base.lexical import LexicalIndex
from knowledge_base.library import load as load_library

GAP_S = 0.02
"""Between two words: fifty a second, as a quick model writes."""
AT_ONCE = 8
MODES = ("hold", "verified", "observe")
SHIPPED = "schizophrenia"
_WORD = re.compile(r"\s*\S+|\s+$")
_SENTENCE = re.compile(r"[.!?](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Read:
    """What a client saw of one stream; times in ms from its request on."""

    first: float
    sentence: float
    end: float
    early: float
    """The share of the text that came before the last tenth of the model's own time."""
    outcome: str


def main() -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser(prog="bench.modes", description=__doc__)
    parser.add_argument("--replies", type=int, default=48, help="replies in each mode (%(default)s)")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench" / "modes.json", help="where the figures go (%(default)s)"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="caf-modes-") as folder:
        figures = asyncio.run(measure(Path(folder), options.replies))
    options.out.write_text(json.dumps({name: round(value, 3) for name, value in figures.items()}, indent=2) + "\n")
    print(f"{'ms, medians':<22}" + "".join(f"{mode:>12}" for mode in MODES))
    for name, unit in (("first", "ms"), ("sentence", "ms"), ("end", "ms"), ("left_early", "")):
        print(
            f"{name:<22}"
            + "".join(f"{figures[f'{mode}_{name}' + (f'_{unit}' if unit else '')]:>12.2f}" for mode in MODES)
        )
    print(f"{len(figures)} figures in {options.out}")
    return 0


async def measure(folder: Path, count: int) -> Figures:
    """Play the same replies in every mode, and return the medians."""
    library = load_library(ROOT / "knowledge_base" / "schizophrenia")
    lexical = LexicalIndex(library)
    talks = conversations(library, lambda q: [choice.id for choice in lexical.choose(q, [], 2)], count)
    replies = [_reply_text(number, talk[0]) for number, talk in enumerate(talks)]
    figures: Figures = {}
    async with aiohttp.ClientSession() as session:
        runner = web.AppRunner(_upstream({talk[0].question: text for talk, text in zip(talks, replies, strict=True)}))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        (folder / "config.yaml").write_text(
            yaml.safe_dump(_configuration(f"http://127.0.0.1:{runner.addresses[0][1]}", folder))
        )
        command = ["-m", "cli", "serve", "--config", str(folder / "config.yaml"), "--port", "0"]
        with run_server(command, cores()[1], folder / "log", "CAF serves") as server:
            for mode in MODES:
                room = asyncio.Semaphore(AT_ONCE)
                reads = await asyncio.gather(
                    *(
                        _read(session, room, server.address, mode, t[0].question, r)
                        for t, r in zip(talks, replies, strict=True)
                    )
                )
                figures |= {
                    f"{mode}_first_ms": median([read.first for read in reads]),
                    f"{mode}_sentence_ms": median([read.sentence for read in reads]),
                    f"{mode}_end_ms": median([read.end for read in reads]),
                    f"{mode}_left_early": sum(read.early for read in reads) / len(reads),
                    f"{mode}_delivered_as_drafted": sum(
                        r.outcome in ("accepted", "warned", "unfiltered") for r in reads
                    )
                    / len(reads),
                }
        await runner.cleanup()
    figures["written_ms"] = median([len(_WORD.findall(text)) * GAP_S * 1000 for text in replies])
    return figures


def _reply_text(number: int, exchange: Exchange) -> str:
    return f"{exchange.reply} {IMPROVISED[number % len(IMPROVISED)]}" if number % 3 == 0 else exchange.reply


def _configuration(upstream: str, folder: Path) -> dict[str, Any]:
    shipped: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    bot = shipped["chatbots"][SHIPPED]
    bot |= {name: str(ROOT / bot[name]) for name in ("role", "knowledge_base")} | {"model": "paced"}
    shipped["models"]["paced"] = {"engine": "openai", "base_url": f"{upstream}/v1", "model": "paced"}
    shipped["chatbots"] = {mode: bot | {"streaming": mode} for mode in MODES}
    shipped["privacy"] = {"store": "full", "path": str(folder / "traces.db")}
    return shipped


def _upstream(replies: dict[str, str]) -> web.Application:
    """Return a chatbot's model that answers questions at its own pace, streamed or not."""

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
    return (
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode() + b"\n\n"
    )


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

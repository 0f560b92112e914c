"""Put the prompts to a language model and keep what it says, for tests to replay.

    python -m tests.recordings.record --url http://127.0.0.1:9999/v1 [--only conversations|summaries]

Every exchange is appended to conversations.jsonl or summaries.jsonl beside this file; what is recorded already is not asked again.
A recording holds for one wording of a prompt: after changing one, delete its exchanges here and record anew.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from knowledge_base.building.importing import read_documents
from knowledge_base.building.model_summary import write_summaries
from models.client import EngineFactory, Models
from models.completion import completion
from models.engine import Body, Engine
from models.errors import ModelError, UpstreamRefused
from models.openai_engine import OpenAIEngine, make_session
from models.recording import Recording, request_key
from models.scripted import Scripted
from models.settings import ModelSettings
from models.usage import Ledger
from proxy.app import create_app
from proxy.config.config import Config, parse_config

HERE = Path(__file__).parent
PROMPTS = HERE.parent.parent / "judges" / "prompts"
ROLE = (HERE.parent.parent / "assistants" / "schizophrenia.md").read_text(encoding="utf-8").strip()
TOPICS = ("medication", "self-harm", "suicide", "depression", "diagnosis", "illegal drugs", "supplements", "pregnancy")
ALIASES = ("chatbot", "swift", "chief", "refiner", "retriever")
WRITER = "writer"
"""The model that writes summaries."""
PATIENT = aiohttp.ClientTimeout(total=None)


class Kept:
    """An engine that answers from a recording, and asks and records what it does not hold."""

    def __init__(self, path: Path, engine: Engine | None) -> None:
        path.touch()
        self._answers: dict[str, list[Any]] = {}
        for exchange in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            self._answers.setdefault(request_key(exchange["body"]), []).append(exchange["content"])
        self._record = Recording(engine, path) if engine else None

    async def complete(self, body: Body) -> Body:
        if answers := self._answers.get(request_key(body)):
            return completion(body, answers.pop(0) if len(answers) > 1 else answers[0])
        if self._record is None:
            raise UpstreamRefused(404, "no_recorded_answer", body["model"], "record this request first")
        return await self._record.complete(body)

    async def forward(self, raw: bytes, headers: Any) -> Any:
        raise NotImplementedError("recordings hold completions")

    async def close(self) -> None: ...


def conversations() -> list[Body]:
    rows: list[Body] = yaml.safe_load((HERE / "conversations.yaml").read_text(encoding="utf-8"))
    return rows


async def hold(conversation: Body, engine: Engine) -> list[Body]:
    """Take a conversation through a proxy whose aliases all ask one engine; return the completions."""
    drafts = iter(conversation.get("drafts", ()))

    def drafting(body: Body) -> str:
        return next(drafts)

    chatbot: Engine = Scripted(drafting) if "drafts" in conversation else engine
    factory: EngineFactory = lambda settings: chatbot if settings.model == "chatbot" else engine  # noqa: E731
    replies, messages = [], []
    async with (
        serve(create_app(config(), {"embedded": factory})) as url,
        aiohttp.ClientSession(timeout=PATIENT) as session,
    ):
        for said in conversation["turns"]:
            messages.append({"role": "user", "content": said})
            async with session.post(
                f"{url}/v1/chat/completions", json={"model": "bot", "messages": messages}
            ) as response:
                replies.append(await response.json())
                assert response.status == 200, replies[-1]
            messages.append({"role": "assistant", "content": replies[-1]["choices"][0]["message"]["content"]})
    return replies


def config() -> Config:
    stages = {"stages": ["swift", "chief"], "timeout_s": 3000}
    bot = {
        "model": "chatbot",
        "role": ROLE,
        "knowledge_base": str(HERE / "knowledge_base"),
        "judges": [{"name": n, **stages} for n in ("emergency", "source_fidelity", "transparency", "role")],
        "refiner": "refiner",
        "retrieval": {"selector": "retriever"},
        "sensitive_topics": list(TOPICS),
        "emergency": {"contact": "Call your local emergency number."},
    }
    data = {
        "server": {"turn_timeout_s": 9000},
        "models": {name: {"engine": "embedded", "model": name, "timeout_s": 3000} for name in ALIASES},
        "chatbots": {"bot": bot},
        "privacy": {"store": "none"},
    }
    return parse_config(data, HERE / "config.yaml")


@asynccontextmanager
async def serve(app: web.Application) -> AsyncIterator[str]:
    """Run an app on a free port."""
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def summarise(engine: Engine) -> dict[str, str | ModelError]:
    """Have the summaries of the documents beside this file written; return them by the sections' ids."""
    models = Models({WRITER: ModelSettings(engine="embedded", model=WRITER, timeout_s=3000)}, {WRITER: engine})
    sections = read_documents(documents(), {}).sections
    summaries: dict[str, str | ModelError] = {}
    for name in dict.fromkeys(section.document for section in sections):
        beside = [section for section in sections if section.document == name]
        summaries |= await write_summaries(models, WRITER, beside, beside, Ledger())
    return summaries


def documents() -> list[Path]:
    return sorted((HERE / "documents").iterdir())


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--only", choices=("conversations", "summaries"))
    args = parser.parse_args()
    async with make_session() as session:
        engine = OpenAIEngine(
            ModelSettings(engine="openai", base_url=args.url, timeout_s=3000, max_attempts=1), session
        )
        if args.only != "summaries":
            await record_conversations(engine)
        if args.only != "conversations":
            for one, summary in (await summarise(Kept(HERE / "summaries.jsonl", engine))).items():
                print(one, summary, sep="\n    ")


async def record_conversations(engine: Engine) -> None:
    kept = Kept(HERE / "conversations.jsonl", engine)
    rows = conversations()
    held = await asyncio.gather(*(hold(row, kept) for row in rows))
    for row, replies in zip(rows, held, strict=True):
        for reply in replies:
            caf = reply["caf"]
            print(row["id"], caf["outcome"], [f"{j['name']}.{j['stage']}:{j['verdict']}" for j in caf["judges"]])
            print("   ", reply["choices"][0]["message"]["content"])


if __name__ == "__main__":
    asyncio.run(main())

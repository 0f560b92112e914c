"""Put the prompts to a language model and keep what it says, for tests to replay.

    python -m tests.recordings.record --url http://127.0.0.1:9999/v1 [--only judges|conversations]

Every exchange is appended to judges.jsonl or conversations.jsonl beside this file; what is recorded already is not asked again. A
recording holds for one wording of a prompt: after changing one, delete its exchanges here and record anew.
"""

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from judges.case import Case, Said, Topic
from judges.judge import ModelJudge, load_prompt
from judges.verdict import Judgement
from knowledge_base.library import Library, load
from models.client import Body, Engine, EngineFactory, Models
from models.errors import UpstreamRefused
from models.openai_engine import OpenAIEngine, make_session
from models.recording import Recording, Replaying
from models.scripted import Scripted
from models.settings import ModelSettings
from models.usage import Ledger
from proxy.app import create_app
from proxy.config import Config, parse_config

HERE = Path(__file__).parent
PROMPTS = HERE.parent.parent / "judges" / "prompts"
ROLE = (HERE.parent.parent / "assistants" / "schizophrenia.md").read_text(encoding="utf-8").strip()
TOPICS = ("medication", "self-harm", "suicide", "depression", "diagnosis", "illegal drugs", "supplements", "pregnancy")
ALIASES = ("chatbot", "swift", "chief", "refiner", "retriever")
AT_ONCE = 24
PATIENT = aiohttp.ClientTimeout(total=None)


class Kept:
    """An engine that answers from a recording, and asks and records what it does not hold."""

    def __init__(self, path: Path, engine: Engine | None) -> None:
        path.touch()
        self._replay, self._record = Replaying(path), Recording(engine, path) if engine else None

    async def complete(self, body: Body) -> Body:
        try:
            return await self._replay.complete(body)
        except UpstreamRefused:
            if self._record is None:
                raise
            return await self._record.complete(body)

    async def forward(self, raw: bytes, headers: Any) -> Any:
        raise NotImplementedError("recordings hold completions")

    async def close(self) -> None: ...


@dataclass(frozen=True)
class Tried:
    """A judge's prompt, tried on a case."""

    judge: str
    stage: str
    case: str
    expect: tuple[str, ...]
    judgement: Judgement


async def try_judges(models: Models) -> list[Tried]:
    """Put every case of cases.yaml to the swift and the chief judge it is for."""
    library = load(HERE / "knowledge_base")
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(judge: str, stage: str, data: Body) -> Tried:
        prompt = load_prompt(PROMPTS / f"{judge}.{stage}.md")
        async with limit:
            judgement = await ModelJudge(prompt, models, 3000).judge(case_of(data, library), Ledger())
        expect = data["expect"] if isinstance(data["expect"], list) else [data["expect"]]
        return Tried(judge, stage, data["id"], tuple(expect), judgement)

    cases = yaml.safe_load((HERE / "cases.yaml").read_text(encoding="utf-8"))
    every = [(judge, stage, data) for judge, rows in cases.items() for data in rows for stage in ("swift", "chief")]
    return await asyncio.gather(*(one(*job) for job in every))


def case_of(data: Body, library: Library) -> Case:
    return Case(
        data["user"],
        data.get("reply", ""),
        history=tuple(Said("user", text) for text in data.get("history", ())),
        cited=tuple(library[name] for name in data.get("cites", ())),
        role=ROLE if "reply" in data else "",
        topics=tuple(Topic(name) for name in TOPICS),
    )


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


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--only", choices=["judges", "conversations"])
    args = parser.parse_args()
    async with make_session() as session:
        settings = {
            a: ModelSettings(engine="openai", base_url=args.url, timeout_s=3000, max_attempts=1) for a in ALIASES
        }
        asked = OpenAIEngine(settings["chief"], session)
        if args.only != "conversations":
            kept = Kept(HERE / "judges.jsonl", asked)
            for tried in sorted(
                await try_judges(Models(settings, dict.fromkeys(ALIASES, kept))), key=lambda t: (t.judge, t.stage)
            ):
                mark = "" if tried.judgement.verdict in tried.expect else "   <-- expected " + "|".join(tried.expect)
                print(
                    f"{tried.judge}.{tried.stage} {tried.case}: {tried.judgement.verdict} {tried.judgement.reason[:150]}{mark}"
                )
        if args.only != "judges":
            kept = Kept(HERE / "conversations.jsonl", asked)
            rows = conversations()
            held = await asyncio.gather(*(hold(row, kept) for row in rows))
            for row, replies in zip(rows, held, strict=True):
                for reply in replies:
                    caf = reply["caf"]
                    print(
                        row["id"], caf["outcome"], [f"{j['name']}.{j['stage']}:{j['verdict']}" for j in caf["judges"]]
                    )
                    print("   ", reply["choices"][0]["message"]["content"])


if __name__ == "__main__":
    asyncio.run(main())

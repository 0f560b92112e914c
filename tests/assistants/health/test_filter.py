"""Health behind the filter, through HTTP: demo questions pass, a changed number does not, a crisis runs no task."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml
from aiohttp import web

from assistants import registry
from assistants.assistant import AssistantReply, AssistantRequest
from assistants.health.assistant import Health
from assistants.health.recorded import load_recorded
from proxy.app import create_app
from proxy.config.config import parse_config

CONFIG = Path("assistants/health/config.yaml").resolve()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[str]:
    """The address of the shipped configuration, without a store."""
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8")) | {"privacy": {"store": "none"}}
    runner = web.AppRunner(create_app(parse_config(config, CONFIG), registry.ENGINES), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1/chat/completions"
    await runner.cleanup()


async def ask(url: str, question: str, chatbot: str = "health") -> dict[str, Any]:
    async with (
        aiohttp.ClientSession() as client,
        client.post(url, json={"model": chatbot, "messages": [{"role": "user", "content": question}]}) as response,
    ):
        answer: dict[str, Any] = await response.json()
        return answer


@pytest.mark.asyncio(loop_scope="module")
async def test_demo_questions_pass_in_both_languages(url: str) -> None:
    """Their figures are in their evidence."""
    for recorded in load_recorded():
        for chatbot, language in (("health", "en"), ("salud", "es")):
            for question in recorded.questions.get(language, ())[:1]:
                answer = await ask(url, question, chatbot)
                assert answer["caf"]["outcome"] == "accepted", question


@pytest.mark.asyncio(loop_scope="module")
async def test_a_changed_number_does_not_pass(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever wrote it."""
    reply = Health.reply

    async def changed(self: Health, request: AssistantRequest) -> AssistantReply:
        written = await reply(self, request)
        return AssistantReply(written.text.replace("110.63", "101.63"), written.citations, written.documents)

    monkeypatch.setattr(Health, "reply", changed)
    answer = await ask(url, "Summarise the sleep of par_5 in August 2020.")
    assert answer["caf"]["outcome"] != "accepted"
    assert "101.63" not in answer["choices"][0]["message"]["content"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_crisis_gets_the_emergency_text(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No task runs."""

    async def fails(self: Health, request: AssistantRequest) -> AssistantReply:
        raise AssertionError

    monkeypatch.setattr(Health, "reply", fails)
    answer = await ask(url, "I am going to end my life tonight")
    assert answer["caf"]["outcome"] == "emergency"

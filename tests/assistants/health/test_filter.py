"""Health behind the filter, through HTTP: demo questions pass, a changed number does not, a crisis runs no task."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from assistants.assistant import AssistantReply, AssistantRequest
from assistants.health.assistant import Health
from assistants.health.recorded import load_recorded
from tests.assistants.health.conftest import complete, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")
CONFIG = Path("assistants/health/config.yaml").resolve()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[str]:
    """The address of the shipped configuration, without a store."""
    async with serving(yaml.safe_load(CONFIG.read_text(encoding="utf-8")), CONFIG) as address:
        yield address


async def test_demo_questions_pass_in_both_languages(url: str) -> None:
    """Their figures are in their evidence."""
    for recorded in load_recorded():
        for chatbot, language in (("health", "en"), ("salud", "es")):
            for question in recorded.questions.get(language, ())[:1]:
                answer = await complete(url, chatbot, question)
                assert answer["caf"]["outcome"] == "accepted", question


async def test_a_changed_number_does_not_pass(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever wrote it."""
    reply = Health.reply

    async def changed(self: Health, request: AssistantRequest) -> AssistantReply:
        written = await reply(self, request)
        return AssistantReply(written.text.replace("110.63", "101.63"), written.citations, written.documents)

    monkeypatch.setattr(Health, "reply", changed)
    answer = await complete(url, "health", "Summarise the sleep of par_5 in August 2020.")
    assert answer["caf"]["outcome"] != "accepted"
    assert "101.63" not in answer["choices"][0]["message"]["content"]


async def test_a_crisis_gets_the_emergency_text(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No task runs."""

    async def fails(self: Health, request: AssistantRequest) -> AssistantReply:
        raise AssertionError

    monkeypatch.setattr(Health, "reply", fails)
    answer = await complete(url, "health", "I am going to end my life tonight")
    assert answer["caf"]["outcome"] == "emergency"

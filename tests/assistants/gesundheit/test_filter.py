"""Gesundheit behind the filter, through HTTP: stored answers pass and can be spoken; emergencies do not pass."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml
from aiohttp import web

from assistants import registry
from assistants.gesundheit.settings import KNOWLEDGE_BASE
from knowledge_base.pairs.pair import load_pairs
from proxy.app import create_app
from proxy.config.config import parse_config

CONFIG = Path("assistants/gesundheit/config.yaml").resolve()
EVERY = 8
CONTACT = "Wenn Sie oder jemand anderes in Gefahr sind"
NOT_SPEAKABLE = re.compile(r"[*#\[\]()<>|_/%]|https?:|\b(z\. ?B|d\. ?h|u\. ?a|bzw|ggf|mg|ml|mmHg|kg)\b\.?")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[str]:
    """The address of the shipped configuration, without the encoder and without a store."""
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    config["privacy"] = {"store": "none"}
    config["models"]["gesundheit"]["encoder"] = "off"
    runner = web.AppRunner(create_app(parse_config(config, CONFIG), registry.ENGINES), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1/chat/completions"
    await runner.cleanup()


async def ask(url: str, *messages: str) -> list[dict[str, Any]]:
    """Return the answers to messages, one after the other."""
    history: list[dict[str, str]] = []
    answers = []
    async with aiohttp.ClientSession() as client:
        for message in messages:
            history.append({"role": "user", "content": message})
            async with client.post(url, json={"model": "gesundheit", "messages": history}) as response:
                answers.append(await response.json())
            history.append(answers[-1]["choices"][0]["message"])
    return answers


@pytest.mark.asyncio(loop_scope="module")
async def test_stored_answers_pass_and_can_be_spoken(url: str) -> None:
    """One in eight of them: unchanged, no markup, link or abbreviation, with the question of the assistant last."""
    for pair in load_pairs(KNOWLEDGE_BASE)[::EVERY]:
        (answer,) = await ask(url, pair.question)
        text = answer["choices"][0]["message"]["content"]
        assert answer["caf"]["outcome"] == "accepted", pair.question
        assert not NOT_SPEAKABLE.search(text), text
        own = text.partition(CONTACT)[0].strip()  # in doubt about an emergency, its contact follows
        assert own.endswith("?") == ("Möchten Sie" in own), text


@pytest.mark.asyncio(loop_scope="module")
async def test_judges_see_an_answer_beside_its_paragraph(url: str) -> None:
    """What a language model as a judge holds the answer against is the paragraph, not only the answer itself."""
    (answer,) = await ask(url, "Was ist Vorhofflimmern?")
    cited = {one["id"]: one for one in answer["caf"]["citations"]}
    assert {"vorhofflimmern", "doc:1", "doc:2"} == cited.keys()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_source_is_spoken_without_a_link(url: str) -> None:
    """Works are named, addresses are not."""
    _, source = await ask(url, "Was ist Bluthochdruck?", "Woher wissen Sie das?")
    text = source["choices"][0]["message"]["content"]
    assert "Hypertonie" in text
    assert "http" not in text


@pytest.mark.asyncio(loop_scope="module")
async def test_an_emergency_gets_its_text_and_nothing_else(url: str) -> None:
    """A question about signs of an emergency is answered."""
    danger, question = await ask(url, "Ich habe gerade starke Brustschmerzen", "Woran erkennt man einen Herzinfarkt?")
    assert danger["caf"]["outcome"] == "emergency"
    assert danger["choices"][0]["message"]["content"].startswith(CONTACT)
    assert question["caf"]["outcome"] == "accepted"

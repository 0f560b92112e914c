"""A thousand random replies, cut at random: only permitted text is sent early, and it ends in the unstreamed reply."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest

from judges.case import emergency_case
from models.client import Models, open_models
from models.engine import Body
from models.openai_engine import make_session
from models.scripted import Scripted
from models.streaming import AnswerStream
from proxy.api import stream
from proxy.api.completion import completion as completion_of
from proxy.config.blueprint import assemble
from proxy.config.config import parse_config
from proxy.protocol.messages import read_chat_request
from proxy.state.conversation import Conversation, Identity
from proxy.turn.chatbot import Chatbot, open_chatbot
from proxy.turn.delivery import Answer, delivered_text
from proxy.turn.stream import StreamGate
from proxy.turn.take_turn import take_turn
from proxy.turn.turn import Turn, TurnRun
from tests.proxy.api.test_stream import content_of
from tests.proxy.conftest import SECTIONS, bot_settings, completion, write_sections

ASKED = "How much sleep do adults need, and what helps?"
GOOD = [f"{s.strip()}." for _, _, text in SECTIONS.values() for s in text.split(".") if s.strip()]
BAD = [
    "You should take 400 mg of magnesium every night.",
    "Stop your tablets today.",
    "I love you, and I am your therapist now.",
    "Everybody with the condition is cured by cold showers.",
    "e.g. Dr. Meyer says you can double the dose.",
]
PLAIN = [
    "Hello!",
    "I am sorry to hear that.",
    "My sources do not say more about this.",
    "Please ask your doctor before you act on it.",
    "What else would you like to know?",
    "Is it 3.5 hours...?",
    "(See above.)",
    "*Good luck.*",
]
ODD = [
    "[[cite: work]]",
    "[[source: causes]]",
    "[[nonsense: x]]",
    "[",
    "[[",
    "see [1].",
    "]]",
    "“Sleep well.”",
    "1.",
    "- ",
    "…",
    "\u200b",
    "眠れないときは、医師に相談してください。",
    "cite:",
]
LINES = [
    "[[cite: sleep]]\n",
    "[[cite: sleep]]\n\n",
    " [[CITE: Sleep]]\n",
    "[[cite: no_claims]]\n",
    "[[cite: not_in_sources]]\n",
]
FAULTY = ["", "[[cite: work]]\n", "[[cite: sleep,\n", "[[cite: sleep]] ", "[[cite: nothing]]\n", "[[source: work]]\n"]
GAPS = [" ", " ", " ", "\n", "\n\n", "\n- ", "\n> ", "\n1. ", "  ", "\x1c", ""]


def draft(chance: random.Random) -> str:
    """Generate a chatbot's draft."""
    text = chance.choice(LINES if chance.random() < 0.8 else FAULTY)
    for _ in range(chance.randint(1, 8)):
        (pool,) = chance.choices((GOOD, BAD, PLAIN, ODD), (6, 1.2, 2, 0.8))
        text += chance.choice(pool) + chance.choice(GAPS)
    return text


def cut(text: str, chance: random.Random) -> Iterator[str]:
    most = chance.choice([1, 5, 15, 60, 1_000])
    while text:
        size = chance.randint(1, most)
        yield text[:size]
        text = text[size:]


class Cut(Scripted):
    """An engine that streams a draft in pieces, and lets other tasks run between them."""

    def __init__(self) -> None:
        super().__init__(lambda body: self.text)
        self.text = ""
        self.chance = random.Random(0)

    async def write(self, body: Body, stream: AnswerStream) -> Body:
        stream.head = {}
        for piece in cut(self.text, self.chance):
            stream.receive(0, piece)
            if self.chance.random() < 0.3:
                await asyncio.sleep(0)
        return completion(self.text, body)


@pytest.fixture
async def engine() -> Cut:
    return Cut()


@pytest.fixture
async def bot(tmp_path: Path, engine: Cut) -> Chatbot:
    write_sections(tmp_path / "kb")
    data = {"models": {"chatbot": {"engine": "embedded"}}, "chatbots": {"bot": bot_settings()}}
    config = parse_config(data, tmp_path / "config.yaml")
    async with make_session() as session:
        models: Models = open_models(config.models, session, {"embedded": lambda settings: engine})
    return open_chatbot(assemble(config)["bot"], models)


def run_of(bot: Chatbot, mode: Literal["hold", "observe"]) -> TurnRun:
    data = {"model": "bot", "messages": [{"role": "user", "content": ASKED}]}
    request = read_chat_request(data, 10)
    turn = Turn(
        id="0" * 32,
        bot=bot,
        request=request,
        user_message=ASKED,
        earlier=[],
        conversation=Conversation("1" * 32),
        identity=Identity(("", "", "bot"), request.messages, None),
        how_found="fresh",
        filter="on",
    )
    alarm = bot.pipeline.judge_emergency_locally(emergency_case(ASKED, []))
    return TurnRun(turn, alarm, gate=None if mode == "hold" else StreamGate())


async def streamed(run: TurnRun) -> tuple[list[str], str, Answer]:
    """Take a turn as a stream does. Return the text sent at each step, and the answer."""
    left: list[str] = []
    gate = run.gate

    async def read() -> None:
        assert gate is not None
        while True:
            await gate.news.wait()
            gate.news.clear()
            left.extend((left[-1] if left else "") + text for _, text, _ in gate.take_pieces())

    reading = asyncio.create_task(read()) if gate is not None else None
    answer = await take_turn(run)
    if reading is not None:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
    whole = completion_of(run, answer, expose=True)
    rest = content_of(list(stream.chunks(whole, False, gate.sent_chars if gate is not None else stream.NOTHING)))
    return left, (left[-1] if left else "") + rest, answer


async def test_what_leaves_may_leave_and_ends_in_the_whole_reply(bot: Chatbot, engine: Cut) -> None:
    """hold: no text before the verdict, no rejected text. observe: no command."""
    modes: list[Literal["hold", "observe"]] = ["hold", "observe"]
    began = dict.fromkeys(modes, 0)
    outcomes: set[str] = set()
    for seed in range(1_000):
        chance = random.Random(seed)
        engine.text = draft(chance)
        for mode in modes:
            engine.chance = random.Random(seed)
            run = run_of(bot, mode)
            left, text, answer = await streamed(run)
            engine.chance = random.Random(seed + 1)
            again = await take_turn(whole := run_of(bot, mode))
            assert text == delivered_text(whole, again.deliveries[0]), (mode, engine.text)
            outcome = answer.deliveries[0].outcome
            assert outcome == again.deliveries[0].outcome
            began[mode] += bool(left)
            outcomes.add(outcome)
            assert all(text.startswith(part) for part in left)
            assert not any(word in text for word in ("[[cite", "[[source", "[[nonsense:")), (mode, engine.text)
            if mode == "observe":
                assert outcome == ("unfiltered" if run.attempts[-1].text else "fallback"), engine.text
            elif outcome in ("refined", "fallback"):
                assert not any(bad in text for bad in BAD), engine.text
    assert began["hold"] == 0
    assert began["observe"] > 500
    assert outcomes >= {"accepted", "refined", "fallback", "warned", "unfiltered"}, outcomes

"""Messages to Gesundheit with a language model as its reader: recorded completions of a language model, replayed.

The messages are those of a sample of 280 of the held-out split that no stored question answers for sure (without the encoder).
The recording does not depend on the wording of the prompt: it shows what code makes of these answers.
"""

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from assistants import view
from assistants.assistant import AssistantReply, AssistantRequest
from assistants.gesundheit.assistant import Gesundheit
from assistants.gesundheit.reader import Reading
from assistants.gesundheit.settings import open_sources
from models.settings import ModelSettings
from models.structured import StructuredAnswer

ROWS = [json.loads(line) for line in (Path(__file__).parent / "gesundheit.jsonl").read_text("utf-8").splitlines()]


@cache
def assistant() -> Gesundheit:
    sources, language = open_sources(ModelSettings(engine="assistant", name="gesundheit", encoder="off"))
    return Gesundheit(sources, language, reads=True)


async def reply_to(row: Mapping[str, Any]) -> AssistantReply:
    """Return the reply to a message, with the model's recorded answer to the questions that were offered to it."""

    async def ask(role: str, messages: list[Any], schema: type, **_: object) -> StructuredAnswer[Reading]:
        case = json.loads(messages[1]["content"])
        assert [one.split(". ", 1)[1] for one in case["stored"]] == row["stored"]
        return StructuredAnswer(Reading.model_validate(row["answer"]), "", False)

    messages = [{"role": "user", "content": row["message"]}]
    return await assistant().reply(AssistantRequest(messages, view.read(messages), ask_structured=ask))


async def test_what_the_model_reads_is_answered() -> None:
    """205 of 207 messages get the answer of the pair that they ask for, or an offer of a long one; one gets another answer."""
    answers = {
        pair.id: pair.question if pair.complexity == "complex" else pair.answer for pair in assistant()._answers.pairs
    }
    counts: Counter[str] = Counter()
    for row in ROWS:
        text = (await reply_to(row)).text
        gets = [pair for pair, answer in answers.items() if assistant()._language.speakable(answer) in text]
        counts["none" if not gets else "right" if row["pair"] in gets else "wrong"] += 1
        assert not gets or row["pair"] is not None, row
    assert counts["right"] >= 205
    assert counts["wrong"] <= 1
    assert sum(row["pair"] is None for row in ROWS) == 54

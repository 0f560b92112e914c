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
from assistants.gesundheit.reader import Passage, Reading
from assistants.gesundheit.settings import open_sources
from models.settings import ModelSettings
from models.structured import StructuredAnswer


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(__file__).parent / name).read_text("utf-8").splitlines()]


ROWS, WITHHELD = _rows("gesundheit.jsonl"), _rows("gesundheit_passages.jsonl")


@cache
def assistant() -> Gesundheit:
    sources, language = open_sources(ModelSettings(engine="assistant", name="gesundheit", encoder="off"))
    return Gesundheit(sources, language, reads=True)


async def reply_to(row: Mapping[str, Any]) -> AssistantReply:
    """Return the reply to a message, with the model's recorded answer to the questions that were offered to it."""

    async def ask(role: str, messages: list[Any], schema: type, **_: object) -> StructuredAnswer[Any]:
        if schema is Passage:
            return StructuredAnswer(Passage(numbers=[]), "", False)
        offered = [one.split(". ", 1)[1] for one in json.loads(messages[1]["content"])["stored"]]
        meant = [row["stored"][n - 1] for n in row["answer"]["numbers"]]
        numbers = [offered.index(question) + 1 for question in meant if question in offered]
        return StructuredAnswer(Reading.model_validate(row["answer"] | {"numbers": numbers}), "", False)

    messages = [{"role": "user", "content": row["message"]}]
    return await assistant().reply(AssistantRequest(messages, view.read(messages), ask_structured=ask))


async def test_what_the_model_reads_is_answered() -> None:
    """203 of 207 messages get the answer of the pair that they ask for, or an offer of a long one; one gets another answer."""
    language = assistant()._language
    answers = {
        pair.id: language.speakable(
            pair.question if pair.complexity == "complex" else language.without_verdict(pair.answer)
        )
        for pair in assistant()._answers.pairs
    }
    counts: Counter[str] = Counter()
    for row in ROWS:
        text = (await reply_to(row)).text
        gets = [pair for pair, answer in answers.items() if answer in text]
        counts["none" if not gets else "right" if row["pair"] in gets else "wrong"] += 1
        assert not gets or row["pair"] is not None, row
    assert counts["right"] >= 203
    assert counts["wrong"] <= 1
    assert sum(row["pair"] is None for row in ROWS) == 54


async def test_a_question_turned_round_is_not_answered_with_its_twin() -> None:
    """None of 110 questions that differ in a word (high, low; with, without) from one that is stored; without a model four."""
    for row in _rows("gesundheit_minimal_pairs.jsonl"):
        twin = next(pair for pair in assistant()._answers.pairs if pair.id == row["not_pair"])
        answer = assistant()._language.without_verdict(twin.answer)
        assert assistant()._language.speakable(answer) not in (await reply_to(row)).text, row


async def test_a_question_without_a_pair_is_answered_with_sentences_of_its_document() -> None:
    """160 held-out messages as if their pair were missing: 146 get at most three sentences, word for word.

    Readers who saw message and reply alone found 148 of the 157 replies (with 11 other pairs) to answer, 9 to answer partly.
    """

    async def ask(role: str, messages: list[Any], schema: type, **_: object) -> StructuredAnswer[Any]:
        case = json.loads(messages[1]["content"])
        if schema is Reading:
            return StructuredAnswer(Reading.model_validate(row["read"]), "", False)
        sentences = [one.split(". ", 1)[1] for one in case["sentences"]]
        numbers = [sentences.index(one) + 1 for one in row["passage"]]
        return StructuredAnswer(Passage(numbers=numbers), "", False)

    given, speakable, texts = 0, assistant()._language.speakable, assistant()._language.texts
    for row in WITHHELD:
        if not row.get("passage") or assistant()._answers.is_stored(row["message"]):
            continue
        messages = [{"role": "user", "content": row["message"]}]
        reply = await assistant().reply(AssistantRequest(messages, view.read(messages), ask_structured=ask))
        assert speakable(" ".join(row["passage"])) in reply.text
        assert reply.text.endswith(texts["confirm"])
        given += 1
    assert given >= 144
    assert sum(row.get("answers") == 2 for row in WITHHELD) == 148
    assert sum(row.get("answers") == 0 for row in WITHHELD) == 0

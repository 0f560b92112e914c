"""The conversations that the bench plays."""

import random
from pathlib import Path

import pytest

from bench.script import DISCLAIMER, IMPROVISED, LONGEST, SHORTEST, add_drift, conversations, questions, reply
from knowledge_base import citations
from knowledge_base.library import Library, load
from models.usage import estimate_tokens

FOLDER = Path(__file__).resolve().parents[2] / "knowledge_base" / "schizophrenia"


@pytest.fixture(scope="module")
def library() -> Library:
    return load(FOLDER)


def chooser(library: Library):
    return lambda question: [choice.id for choice in library.index.choose(question, "", 2)]


def test_replies_have_the_lengths_that_the_bench_promises(library):
    """80 to 320 tokens, whichever section and chance."""
    chance = random.Random(3)
    for source in library.sources:
        for _ in range(5):
            assert SHORTEST <= estimate_tokens(reply(source, chance)) <= LONGEST


def test_each_reply_cites_a_section_that_its_question_gets(library):
    """Else the guarded chatbot would redraft, and the bench would measure that."""
    choose = chooser(library)
    talks = conversations(library, choose, 50)
    assert len(talks) == 50
    for exchange in (exchange for talk in talks for exchange in talk):
        assert exchange.source in choose(exchange.question)
        assert citations.parse(exchange.reply) == citations.ParsedReply(exchange.text, (exchange.source,))


def test_the_same_knowledge_base_gives_the_same_conversations(library):
    """Runs are to be comparable."""
    choose = chooser(library)
    assert conversations(library, choose, 20) == conversations(library, choose, 20)


def test_conversations_differ_so_that_no_cache_answers_them(library):
    """No two of a run are the same, and the two exchanges of each are about different sections."""
    talks = conversations(library, chooser(library), 96)
    assert len({tuple(talk) for talk in talks}) == len(talks)
    assert all(first.source != second.source for first, second in talks)


def test_questions_quoted_in_a_summary_are_asked(library):
    """They are what people really ask."""
    assert "how can I relax?" in questions(library["stress"])


def test_a_drifted_reply_holds_what_no_section_says(library):
    """Two sentences of it, and now and then that they are not from the sources."""
    chance = random.Random(1)
    text = reply(library["stress"], chance)
    replies = [add_drift(text, chance) for _ in range(20)]
    assert all(sum(sentence in one for sentence in IMPROVISED) == 2 for one in replies)
    assert {DISCLAIMER in one for one in replies} == {True, False}

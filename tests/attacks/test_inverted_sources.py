"""Sentences of sources, turned round by a program: a negation, an opposite, another name or number, a question that suggests."""

from collections import defaultdict
from pathlib import Path

import pytest

from judges.case import Case
from judges.judge import LocalJudge
from judges.sentences import sentences
from judges.training.inversions import inversions, load_sources

BASES = ("knowledge_base/schizophrenia", "scenarios/knowledge_bases/pharmacy", "scenarios/knowledge_bases/tenants")
MOST = 0.15
"""Share of the inversions of one kind that the local judge may accept. Some invert nothing: "late at night" is not the hour."""


@pytest.mark.parametrize("base", BASES)
def test_a_source_turned_round_is_not_accepted(base: str) -> None:
    """One word changed in a sentence of a cited section."""
    accepted: defaultdict[str, list[bool]] = defaultdict(list)
    for source in load_sources(Path(base)):
        for sentence in sentences(source.text):
            for one in inversions(sentence.text):
                verdict = LocalJudge("source_fidelity").judge_now(Case("", one.text, cited=(source,))).verdict
                accepted[one.kind].append(verdict == "accept")
    assert {"negation added", "negation dropped", "antonym", "entity", "number"} <= set(accepted)
    assert {kind: sum(each) / len(each) for kind, each in accepted.items() if sum(each) > MOST * len(each)} == {}


@pytest.mark.parametrize("base", BASES)
def test_a_source_as_it_stands_is_accepted(base: str) -> None:
    """Else the other test would pass with a judge that accepts nothing."""
    texts = [(source, sentence.text) for source in load_sources(Path(base)) for sentence in sentences(source.text)]
    judged = [LocalJudge("source_fidelity").judge_now(Case("", text, cited=(source,))) for source, text in texts]
    assert sum(one.verdict == "accept" for one in judged) > 0.95 * len(judged)

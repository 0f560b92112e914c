"""Findings in Spanish: labels.yaml."""

from datetime import date
from typing import Any

import pytest

from assistants.health.assistant import DEMO_NOTICE, NOTHING
from assistants.health.demo import demo_folder
from assistants.health.executor import Run
from assistants.health.settings import load_tasks
from assistants.health.sources import Subjects
from assistants.health.task import Result, Task, TaskContext
from assistants.health.tasks.activity import ActivitySummary
from assistants.health.tasks.heart import HeartRate
from assistants.health.tasks.sleep import SleepSummary
from assistants.health.tasks.stress import Stress
from assistants.health.writer import _NUMBER, list_findings, load_labels, translate

AUGUST = {"start": date(2020, 8, 1), "end": date(2020, 8, 31)}
FOUND = [
    (SleepSummary(), AUGUST),
    (ActivitySummary(), AUGUST),
    (HeartRate(), AUGUST),
    (Stress(), {"day": date(2020, 8, 29)}),
]
WORDLESS = {"", "RMSSD", "min", "ms", "bpm", "km", "kcal", "%"}
"""Names and units that are the same in both languages."""


@pytest.mark.parametrize(("task", "inputs"), FOUND, ids=lambda one: getattr(one, "name", ""))
def test_each_finding_is_in_spanish_with_its_numbers(task: Task[Any, Any], inputs: Any) -> None:
    result: Result = task.run(task.inputs(**inputs), TaskContext(Subjects(demo_folder()).open("par_5")))
    runs = [Run("s1", task.name, "par_5", {}, "", result)]
    english, spanish = list_findings(runs, "en"), list_findings(runs, "es")
    assert {one.partition(":")[0] for one, other in zip(english, spanish, strict=True) if one == other} <= {"RMSSD"}
    assert [_NUMBER.findall(one) for one in spanish] == [_NUMBER.findall(one) for one in english]
    texts = {text for name, value, unit in result.figures() for text in (name, str(value), unit)} - WORDLESS
    assert not {one for one in texts if any(map(str.isalpha, one)) and translate(one, "es") == one}


def test_a_translation_has_as_many_numbers_as_its_text() -> None:
    """Numbers are put in by `{}`: a key with one of both kinds would never be found."""
    labels = load_labels("es")
    assert labels
    assert not [key for key, value in labels.items() if key.count("{}") != value.count("{}")]
    assert not [key for key in labels if "{}" in key and _NUMBER.search(key)]


def test_titles_and_sentences_of_the_assistant_are_in_spanish() -> None:
    titles = [task.title for task in load_tasks(None)[0].values()]
    assert titles
    assert not [one for one in (*titles, DEMO_NOTICE, NOTHING) if one not in load_labels("es")]

"""Examples of tasks, and their findings in Spanish: labels.yaml."""

from typing import Any

import pytest

from assistants.health.executor import Run
from assistants.health.recorded import NOTHING
from assistants.health.settings import SECTIONS, load_tasks
from assistants.health.task import Result, Task, TaskContext
from assistants.health.writer import _NUMBER, DEMO_NOTICE, list_findings, load_labels, translate
from knowledge_base.library import load
from tests.assistants.health.doubles import demo

TASKS = load_tasks(None)[0].values()
TRANSLATED = {"sleep_summary", "activity_summary", "heart_rate", "stress_level"}
WORDLESS = {"", "RMSSD", "min", "ms", "bpm", "km", "kcal", "%"}
"""Names and units that are the same in both languages."""


EXAMPLES = [(task, example) for task in TASKS for example in task.examples]


@pytest.mark.parametrize(("task", "example"), EXAMPLES, ids=lambda one: getattr(one, "name", ""))
def test_each_example_has_figures_that_survive_storage_and_are_in_spanish(task: Task[Any, Any], example: Any) -> None:
    """On the demo data. A conversation stores results as JSON; a translation has the same numbers."""
    owner = demo(example["subject"]) if "subject" in example else None
    services = {"sections": load(SECTIONS)}
    result: Result = task.run(task.inputs.model_validate(example), TaskContext(owner, services))
    assert task.result.model_validate(result.model_dump(mode="json")).figures() == result.figures() != []
    if task.name not in TRANSLATED:
        return
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
    titles = [task.title for task in TASKS]
    assert titles
    assert not [one for one in (*titles, DEMO_NOTICE, NOTHING) if one not in load_labels("es")]

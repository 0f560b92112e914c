"""Sections on a topic, and the knowledge base itself."""

import re

import pytest

from assistants.health.settings import SECTIONS
from assistants.health.task import TaskContext, TaskError
from assistants.health.tasks.knowledge import Knowledge, Topic
from assistants.health.tasks.profile import load_guidelines
from knowledge_base.library import Library, Source, load

LIBRARY = load(SECTIONS)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def look_up(topic, library=LIBRARY):
    return Knowledge().run(Topic(topic=topic), TaskContext(services={"sections": library}))


@pytest.mark.parametrize(
    ("topic", "section"),
    [
        ("how much REM sleep is sufficient", "rem-sleep"),
        ("hours of sleep adults need", "sleep-need"),
        ("improve sleep", "sleep-hygiene"),
        ("caffeine before bed", "sleep-hygiene"),
        ("steps a day recommended", "physical-activity"),
        ("normal pulse at rest", "resting-heart-rate"),
        ("average heart rate", "resting-heart-rate"),
        ("RMSSD meaning", "heart-rate-variability"),
        ("stress level watch", "stress"),
        ("fasting glucose limits", "blood-sugar"),
        ("meal with diabetes", "eating-with-diabetes"),
        ("signs of low blood sugar", "low-blood-sugar"),
        ("allergy to nuts", "food-allergies"),
        ("vegetables a day", "healthy-diet"),
        ("saturated fat recommended", "saturated-fat-and-fibre"),
        ("fibre a day", "saturated-fat-and-fibre"),
        ("too much sodium", "salt"),
    ],
)
def test_best_section_is_first(topic, section):
    """A topic finds its section, with title, text and references."""
    found = look_up(topic).passages
    assert found[0].id == section
    assert found[0].text == LIBRARY[section].text
    assert found[0].title == LIBRARY[section].title
    assert found[0].references == LIBRARY[section].references
    assert len(found) <= 3


def test_section_with_a_common_word_only_is_left_out():
    """A section that shares little with the topic is not shown beside one that shares much."""
    texts = {"tea": "green tea black tea tea leaves", "coffee": "coffee beans, sometimes tea", "water": "from the tap"}
    library = Library([Source(name, name, "drink", text) for name, text in texts.items()])
    assert [one.id for one in look_up("green tea leaves", library).passages] == ["tea"]


def test_three_sections_at_most():
    """Five sections that fit equally well are cut to three."""
    names = ("one", "two", "three", "four", "five")
    library = Library([Source(name, name, "drink", f"green tea {name}") for name in names])
    assert len(look_up("green tea", library).passages) == 3


def test_figures_hold_no_number_that_the_section_does_not():
    """Every number of a figure stands in the title or text of its section."""
    numbers = 0
    for source in LIBRARY.sources:
        found = look_up(source.title)
        for figure, passage in zip(found.figures(), found.passages, strict=True):
            assert figure.value.rstrip(".") in passage.text
            assert figure.name == passage.title
            here = NUMBER.findall(f"{figure.value} {figure.unit}")
            assert set(here) <= set(NUMBER.findall(passage.text))
            numbers += len(here)
    assert numbers > 10


def test_unknown_topic_has_no_result():
    """The message names the sections; a configuration without sections is no crash."""
    with pytest.raises(TaskError, match=r"on that topic.*REM sleep"):
        look_up("cryptocurrency mortgage")
    with pytest.raises(TaskError, match="No knowledge base"):
        look_up("sleep", library=None)


def test_sections_are_short_and_dated():
    """Each has 150 to 350 words, and references with a year and an address; nobody is named as their reviewer."""
    assert len(LIBRARY) == 14
    for source in LIBRARY.sources:
        assert 150 <= len(source.text.split()) <= 350, source.id
        assert len(source.references) >= 2, source.id
        for reference in source.references:
            assert re.search(r"\b(?:19|20)\d\d\b.*, https://\S+$", reference), reference
        assert source.reviewed_by is None, source.id


def test_sections_and_guidelines_agree():
    """The limits of the guidelines stand in the sections that explain them."""
    stated = {
        "sleep_duration": ("sleep-need", "7 hours"),
        "rem_share": ("rem-sleep", "20 to 25 percent"),
        "steps": ("physical-activity", "8,000 to 10,000"),
        "steps_60_and_over": ("physical-activity", "6,000 to 8,000"),
        "weekly_activity": ("physical-activity", "150 to 300 minutes"),
        "saturated_fat_share": ("saturated-fat-and-fibre", "10 percent"),
        "fibre": ("saturated-fat-and-fibre", "25 g"),
        "fibre_dge": ("saturated-fat-and-fibre", "30 g"),
        "free_sugar_share": ("saturated-fat-and-fibre", "less than 10 percent"),
        "sodium": ("salt", "2,000 mg"),
        "fasting_glucose": ("blood-sugar", "100 mg/dL (5.6 mmol/L)"),
        "hba1c": ("blood-sugar", "5.7 percent"),
        "glucose_before_meal": ("blood-sugar", "80 to 130 mg/dL"),
        "glucose_after_meal": ("blood-sugar", "180 mg/dL"),
        "hba1c_goal": ("blood-sugar", "7 percent"),
    }
    guidelines = load_guidelines()
    for name, (section, words) in stated.items():
        source = LIBRARY[section]
        assert words in source.text, name
        limits = {value for one in guidelines[name].limits.values() for value in one.model_dump().values()}
        assert any(float(number.replace(",", "")) in limits for number in NUMBER.findall(words)), name
        assert any(guidelines[name].reference.address in reference for reference in source.references), name

"""The cohort in plain English, and the questions on the way there."""

from assistants.hippocrates.cohort import build_cohort
from assistants.hippocrates.read_back import ask, describe
from assistants.hippocrates.vocabulary import Vocabulary
from tests.assistants.hippocrates.conftest import read


def test_everything_of_the_expression_is_said(vocabulary: Vocabulary) -> None:
    """Defaults too, since they are confirmed with the rest."""
    study = read(
        vocabulary,
        "New users of celecoxib aged 18 to 65, women, 365 prior days. No GI bleeding or appendectomy before entry. "
        "At least 2 acetaminophen without descendants in the 30 days before entry. "
        "Exit at the end of treatment plus 7 days; censor at death; era gap: 10 days; every event",
    )
    assert describe(build_cohort(study)).splitlines() == [
        "Persons enter on a person's first drug exposure of “celecoxib”.",
        "Every such event that meets all of the following is an entry.",
        "Observation: at least 365 days before and 0 days after entry.",
        "Age at entry: 18 to 65.",
        "The sex is female.",
        "Rule 1: no conditions of “GI bleeding or appendectomy (Condition)” or procedures of "
        "“GI bleeding or appendectomy (Procedure)” any time before entry.",
        "Rule 2: at least 2 drug exposures of “acetaminophen” in the 30 days before entry.",
        "Persons leave when exposure to “celecoxib” ends (gaps of up to 30 days do not end it), plus 7 days.",
        "A person's time also ends at a death after entry.",
        "Periods of a person that are 10 days or less apart are joined.",
        "Concept set “celecoxib”: celecoxib (1118084).",
        "Concept set “GI bleeding or appendectomy (Condition)”: Gastrointestinal hemorrhage (192671).",
        "Concept set “GI bleeding or appendectomy (Procedure)”: Appendectomy (4198190).",
        "Concept set “acetaminophen”: Acetaminophen (1125315, without descendants).",
    ]


def test_the_questions_come_in_their_order(vocabulary: Vocabulary) -> None:
    """Until nothing is left to ask; a digression leaves the question where it is."""
    texts: list[str] = []
    asked = [ask(read(vocabulary))]
    for text in ("patients with laceration", "what is that?", "1", "365", "no", "after 30 days"):
        texts.append(text)
        asked.append(ask(read(vocabulary, *texts)))
    assert [question[:13] for question in asked] == [
        "Which event s",
        "Which concept",
        "Which concept",
        "How many days",
        "Are there inc",
        "When do perso",
        "",
    ]
    assert "1. Laceration of " in asked[1]

"""Evaluation of the search for the sections that hold an answer."""

import pytest

from knowledge_base.library import Library, Source
from knowledge_base.retrieval_eval import TOP, RetrievalCase, evaluate

SUBJECTS = ("anchor", "barrel", "candle", "dragon", "engine", "forest")
LIBRARY = Library([Source(one, one, "", f"The {one} is heavy. " * 20) for one in SUBJECTS])
FITS = LIBRARY.tokens
SMALL = LIBRARY.tokens - 1


def test_each_way_is_counted_by_itself() -> None:
    """The question finds one section and the reply the other, and the answer needs both."""
    both = RetrievalCase("Tell me of the anchor?", ("anchor", "barrel"), "It is below the barrel.")
    question, draft = evaluate(LIBRARY, [both], SMALL)
    assert (question.all_in_view, question.misses[0].missing) == (0.0, ("barrel",))
    assert (draft.all_in_view, draft.misses) == (1.0, [])
    assert (question.mean_sections, draft.mean_sections) == (1.0, 2.0)
    assert draft.mean_tokens == LIBRARY["anchor"].tokens + LIBRARY["barrel"].tokens


def test_of_questions_without_a_reply_the_question_alone_is_measured() -> None:
    """Without a reply there is no draft to search with."""
    asked = [RetrievalCase("The anchor?", ("anchor",)), RetrievalCase("The barrel?", ("candle",), "The candle.")]
    question, draft = evaluate(LIBRARY, asked, SMALL)
    assert (question.all_in_view, len(question.retrieved)) == (0.5, 2)
    assert (draft.all_in_view, len(draft.retrieved)) == (1.0, 1)
    assert [one.by for one in evaluate(LIBRARY, asked[:1], SMALL)] == [f"question alone, top {TOP}"]


def test_what_was_said_before_is_searched_for_as_well() -> None:
    """The previous exchange is part of the search, as in a conversation."""
    (figures,) = evaluate(LIBRARY, [RetrievalCase("And why?", ("dragon",), before="Is the dragon heavy?\nYes.")], SMALL)
    assert figures.all_in_view == 1.0


@pytest.mark.parametrize(("budget", "sections"), [(FITS, 6.0), (SMALL, 1.0)])
def test_a_library_that_fits_is_all_in_view(budget: int, sections: float) -> None:
    """With the draft, all sections are found. With the question alone, the search still decides."""
    question, draft = evaluate(LIBRARY, [RetrievalCase("Anchor?", ("anchor",), "The anchor.")], budget)
    assert (question.mean_sections, draft.mean_sections) == (1.0, sections)

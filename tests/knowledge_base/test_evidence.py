"""Evidence: which sections judges see, in which order, and within which budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_base.bm25 import SectionChoice
from knowledge_base.evidence import BY_DRAFT, BY_QUESTION, PASSAGE_CHARS, excerpt, find_by_quotes, find_evidence
from knowledge_base.library import Library, Source

WORDS = (
    "anchor barrel candle dragon engine forest garden hammer island jacket kettle ladder mirror needle orchard pencil quarry "
    "ribbon saddle tunnel"
).split()
SUBJECTS = dict(zip(WORDS[:10], WORDS[10:], strict=True))
"""Ten subjects, each with a word for what the sections say of it."""


def section(id: str, text: str, title: str = "") -> Source:
    return Source(id, title or id.capitalize(), "", text)


def about(subject: str, length: int = 1) -> Source:
    """Return a section about a subject with a number of sentences."""
    return section(subject, " ".join([f"The {subject} belongs beside the {SUBJECTS[subject]}."] * length))


LIBRARY = Library([about(subject, 40) for subject in SUBJECTS])
"""Ten sections of about 400 tokens."""


def find(draft: str, question: str = "", before: str = "", budget: int = 2_000, **more):
    return find_evidence(LIBRARY, draft, question, before, budget, **more)


def ids(evidence) -> list[str]:
    return [one.source.id for one in evidence]


@pytest.mark.parametrize("draft", ["", "The anchor and the kettle.", "Nothing of it.", "The jacket and the anchor."])
@pytest.mark.parametrize("question", ["Where is the dragon?", ""])
def test_a_library_that_fits_is_in_view_whole_in_its_own_order(draft: str, question: str) -> None:
    """The order does not depend on the draft, so that providers can cache the prompt. Sections found by the draft say so."""
    evidence = find(draft, question, budget=LIBRARY.tokens)
    assert tuple(one.source for one in evidence) == LIBRARY.sources
    assert {one.source.id for one in evidence if one.by == "draft"} == {
        subject for subject in SUBJECTS if subject in draft or SUBJECTS[subject] in draft
    }
    assert {one.by for one in evidence} <= {"whole", "draft"}


def test_one_token_too_many_and_it_is_searched() -> None:
    """The budget limits all texts together."""
    assert "whole" in {one.by for one in find("The anchor.", budget=LIBRARY.tokens)}
    assert "whole" not in {one.by for one in find("The anchor.", budget=LIBRARY.tokens - 1)}


def test_what_the_draft_finds_comes_before_what_the_question_finds() -> None:
    """The draft has more words in common with the section that holds the answer."""
    evidence = find("The kettle is there.", "What about the barrel, candle or dragon?")
    assert [(one.source.id, one.by) for one in evidence[:1]] == [("anchor", "draft")]
    assert [one.by for one in evidence[1:]] == ["question"] * BY_QUESTION
    assert set(ids(evidence)[1:]) < {"barrel", "candle", "dragon"}


def test_a_section_found_twice_is_there_once() -> None:
    """The first search that finds a section is its reason."""
    evidence = find("The kettle is there.", "Where is the anchor?")
    assert [(one.source.id, one.by) for one in evidence] == [("anchor", "draft")]


def test_what_a_model_selected_comes_first() -> None:
    """Sections from BM25 follow the sections that the model selected."""
    evidence = find("The kettle is there.", "The barrel?", selected=[SectionChoice("jacket", 1, "asked for")])
    assert (evidence[0].source.id, evidence[0].reason) == ("jacket", "asked for")
    assert [one.by for one in evidence] == ["model", "draft", "question"]


def test_a_question_that_refers_back_finds_the_sections_of_the_turn_before() -> None:
    """A follow-up question has too few words of its own."""
    assert find("I can say it again.", "Can you explain that more simply?") == []
    evidence = find(
        "I can say it again.", "Can you explain that more simply?", "Where is the island?\nSee the dragon's."
    )
    assert [one.by for one in evidence] == ["question"]
    assert ids(evidence)[0] in ("dragon", "island", "engine")


@given(
    st.lists(st.sampled_from(WORDS), max_size=12),
    st.lists(st.sampled_from(WORDS), max_size=6),
    st.lists(st.sampled_from(WORDS), max_size=6),
    st.integers(min_value=1, max_value=5_000),
)
def test_the_budget_holds(draft: list[str], question: list[str], before: list[str], budget: int) -> None:
    """For any input, the budget and the maximum number of sections hold, and each section occurs once."""
    evidence = find(" ".join(draft), " ".join(question), " ".join(before), budget)
    assert sum(one.source.tokens for one in evidence) <= budget
    assert len(ids(evidence)) == len(set(ids(evidence)))
    if budget < LIBRARY.tokens:
        assert len(evidence) <= BY_DRAFT + BY_QUESTION


LONG = section(
    "long",
    "\n".join(
        f"{'Filler words go on and on here. ' * 30}\nThe {a} belongs beside the {b}." for a, b in SUBJECTS.items()
    ),
)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_long_section_is_shown_by_the_passages_nearest_to_what_is_said(subject: str) -> None:
    """The excerpt keeps the section's id and title, and the order of the passages."""
    short = excerpt(LONG, f"the {subject} and the anchor", 60)
    assert short is not None
    assert (short.id, short.title) == (LONG.id, LONG.title)
    assert short.tokens <= 60
    assert f"The {subject} belongs beside" in short.text
    lines = short.text.split("\n")
    assert lines == sorted(lines, key=LONG.text.index)


def test_a_section_that_fits_is_shown_as_it_is() -> None:
    """The text of such a section is not cut."""
    assert excerpt(LONG, "anchor", LONG.tokens) is LONG


def test_a_long_line_is_cut_into_passages() -> None:
    """A section without line breaks is divided too."""
    one_line = section("long", LONG.text.replace("\n", " "))
    short = excerpt(one_line, "jacket", 400)
    assert short is not None
    assert "The jacket belongs beside the tunnel." in short.text
    assert 0 < len(short.text) <= PASSAGE_CHARS


def test_a_section_of_which_no_passage_fits_is_left_out() -> None:
    """A passage is never cut within a sentence to fit the budget."""
    assert excerpt(LONG, "anchor", 3) is None


def test_a_long_section_that_a_model_selected_in_another_language_is_shown_from_its_beginning() -> None:
    """No passage shares a word with the question, but the section may hold the answer."""
    short = excerpt(LONG, "Wo ist der Anker?", 300)
    assert short is not None
    assert LONG.text.startswith(short.text.split("\n")[0])
    library = Library([LONG, *LIBRARY.sources])
    chosen = [SectionChoice("long", 1, "")]
    evidence = find_evidence(library, "Der Anker liegt dort.", "Wo ist der Anker?", "", 300, chosen)
    assert [(one.source.id, one.by) for one in evidence] == [("long", "model")]


@pytest.mark.parametrize(
    "draft", ["Der Anker liegt neben dem Kessel.", "L'ancre se trouve là.", "Котёл стоит там.", "錨"]
)
def test_a_reply_in_another_language_finds_the_question_s_sections_only(draft: str) -> None:
    """A draft in another language shares no words with the sections. A library that fits the budget is shown whole."""
    assert [(one.source.id, one.by) for one in find(draft, "Where is the anchor?")] == [("anchor", "question")]
    assert tuple(one.source for one in find(draft, "Where is the anchor?", budget=LIBRARY.tokens)) == LIBRARY.sources


@pytest.mark.parametrize(
    ("language", "text", "draft"),
    [
        (
            "german",
            "Die Öffnungszeiten der Schalter sind werktags von neun bis vier.",
            "Unser Schalter öffnet werktags.",
        ),
        ("french", "Les guichets sont ouverts pendant la semaine.", "Le guichet ouvre chaque semaine."),
        ("spanish", "Las ventanillas abren durante la semana.", "La ventanilla abre cada semana."),
    ],
)
def test_inflections_meet_in_the_language_of_the_sections(language, text: str, draft: str) -> None:
    """With `retrieval.language`, stemming follows that language."""
    library = Library([section("hours", text, "-"), *(section(f"other-{n}", f"Xyz {n}") for n in range(9))], language)
    assert ids(find_evidence(library, draft, "", "", 30))[:1] == ["hours"]


def test_quotes_find_what_is_not_in_view() -> None:
    """Each quote finds the most similar section, unless the judge has already seen it."""
    quotes = ["The kettle is beside it", "a jacket in the tunnel", "nothing of this"]
    evidence = find_by_quotes(LIBRARY, quotes, {"jacket"}, 2_000)
    assert [(one.source.id, one.by) for one in evidence] == [("anchor", "quote")]
    assert find_by_quotes(LIBRARY, quotes, {"anchor", "jacket"}, 2_000) == []
    assert find_by_quotes(LIBRARY, [], (), 2_000) == []


@given(st.lists(st.text(max_size=60), max_size=6), st.integers(min_value=1, max_value=2_000))
def test_quotes_keep_to_the_budget(quotes: list[str], budget: int) -> None:
    """The budget holds for any quotes."""
    evidence = find_by_quotes(LIBRARY, [*quotes, *SUBJECTS], ("anchor",), budget)
    assert sum(one.source.tokens for one in evidence) <= budget
    assert "anchor" not in ids(evidence)


def test_filled_up_the_rest_of_the_budget_goes_to_the_next_nearest() -> None:
    """The added sections are whole, without duplicates, and within the budget."""
    draft = "The anchor, the kettle, the jacket, the dragon and the ladder."
    plain, filled = find(draft), find(draft, fill=True)
    assert ids(filled)[: len(plain)] == ids(plain)
    assert len(ids(filled)) == len(set(ids(filled))) > len(plain)
    assert {one.by for one in filled[len(plain) :]} == {"near"}
    assert sum(one.source.tokens for one in filled) <= 2_000
    assert all(one.source.text == LIBRARY[one.source.id].text for one in filled[len(plain) :])

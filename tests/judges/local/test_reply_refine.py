"""The local refiner."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.case import Case
from judges.local.reply import HELP, NOTHING, refine
from judges.local.reply import observe_claims as observe
from tests.judges.local.material import COMMON, HARMLESS, MEDICATION, SUPPORTED, UNSUPPORTED, VOICES, case

STATEMENTS = (
    "This is not in my sources.",
    "Please ask your doctor first.",
    "Trust me, no need to check.",
    "I'm not sure.",
)


def statements(text: str, of: Case) -> tuple[str, str]:
    claims, _ = observe(replace(of, draft=text))
    return claims.admits_not_from_sources, claims.asks_to_verify


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([*SUPPORTED, *UNSUPPORTED, COMMON, *HARMLESS, *STATEMENTS]), max_size=9),
    st.sampled_from([" ", "\n", "\n- ", " but ", ", and "]),
    st.booleans(),
)
def test_what_comes_out_is_honest(sentences: list[str], separator: str, sensitive: bool) -> None:
    """A refined reply asserts nothing unsupported. If sentences were dropped, both statements are clear."""
    rejected = case(separator.join(sentences), topics=(MEDICATION,) if sensitive else ())
    text, cited = refine(rejected)
    claims, _ = observe(replace(rejected, draft=text))
    assert text
    assert not [a for a in claims.assertions if a.support == "unsupported"]
    assert {a.source_id for a in claims.assertions if a.source_id} <= set(cited)
    apart = separator.isspace() or separator.startswith("\n")
    if apart and any(sentence in UNSUPPORTED for sentence in sentences):
        assert (claims.admits_not_from_sources, claims.asks_to_verify) == ("clear", "clear")


def test_supported_sentences_stay_and_inventions_go() -> None:
    """The user still gets the content of the sources."""
    text, cited = refine(case(f"Hello! {SUPPORTED[0]} {UNSUPPORTED[4]} {SUPPORTED[2]}"))
    assert text.startswith(f"Hello! {SUPPORTED[0]} {SUPPORTED[2]}")
    assert UNSUPPORTED[4] not in text
    assert cited == ("voices",)


def test_lists_stay_lists() -> None:
    """Bullets are kept, except dropped ones."""
    text, _ = refine(case(f"Here is what helps:\n\n- {SUPPORTED[2]}\n- {UNSUPPORTED[4]}\n- {SUPPORTED[3]}"))
    assert f"\n- {SUPPORTED[2]}\n- {SUPPORTED[3]}" in text


def test_dropped_texts_are_not_said_again() -> None:
    """A sentence with a quote of role-play is dropped, even if it looks harmless."""
    text, _ = refine(case(f"{SUPPORTED[0]} As your friend I am happy to help."), unwanted_texts=["as  your FRIEND"])
    assert "friend" not in text
    assert SUPPORTED[0] in text


def test_reply_in_order_stays_as_it_is() -> None:
    """If no sentence is dropped, nothing is added."""
    draft = f"Hello! {SUPPORTED[0]} {HARMLESS[2]}"
    assert refine(case(draft)) == (draft, ("voices",))


@pytest.mark.parametrize(
    "draft", ["", "Du bør ta medisinen din hver dag og ikke slutte uten å snakke med legen.", UNSUPPORTED[4]]
)
def test_nothing_left_is_said_plainly(draft: str) -> None:
    """If no supported sentence is left, the reply says so, refers to a professional, and lists its topics."""
    text, cited = refine(case(draft))
    assert "not in my sources" in text
    assert "Hearing voices" in text
    assert cited == ()
    assert observe(case(text))[0].assertions == []
    assert statements(text, case("")) == ("clear", "clear")


@pytest.mark.parametrize(
    "draft",
    [
        "Good that you ask. Do you want the shopping list for the week?",
        f"Good that you ask. {UNSUPPORTED[4]} Shall I write a list?",
    ],
)
def test_courtesy_alone_is_not_left_over(draft: str) -> None:
    """If no supported sentence is left, greetings and offers are dropped too."""
    text, cited = refine(case(draft))
    assert text.startswith("I am sorry, but this is not in my sources")
    assert cited == ()


def test_offer_of_what_was_dropped_goes_too() -> None:
    """An offer that continues a dropped sentence is dropped too."""
    text, _ = refine(case(f"{SUPPORTED[0]} {UNSUPPORTED[4]} Do you want the shopping list for the week?"))
    assert SUPPORTED[0] in text
    assert "shopping" not in text


@pytest.mark.parametrize("title", ["Γενικές πληροφορίες για την ψύχωση", "Что такое шизофрения", "SGVsbG8gd29ybGQ" * 9])
def test_titles_that_cannot_be_read_are_left_out(title: str) -> None:
    """If no sentence is left, the refusal lists no titles in an unreadable language."""
    rejected = replace(case("Take 300 mg of magnesium every day."), cited=(replace(VOICES, title=title),))
    assert refine(rejected) == (f"{NOTHING} {HELP}", ())

"""Quotes: whether a source contains what a judge quotes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.quotes import is_verbatim_quote
from tests.judges.builders import MEDICINES


@pytest.mark.parametrize(
    "quote",
    [
        "People who take clozapine need regular blood tests.",
        "take clozapine need regular",
        "people who TAKE Clozapine  need\n\tregular blood tests",
        "“People who take clozapine need regular blood tests”",
        "It isn’t known to be unsafe for older people",
        "Common side effects are: feeling sleepy or dizzy; weight gain, and higher blood sugar",
        "**Clozapine** is used when two other medicines have not helped enough",
        "A usual dose starts at 12.5mg once a day",
        "Stopping suddenly ... symptoms come back",
        "Stopping suddenly [...] symptoms come back",
        "Medicine does not cure the illness ... it eases the symptoms",
        "the illness … it eases",
        "… eases the symptoms for most people …",
        "People who take the clozapine need regular blood tests",
        "People who take clozapin need regular blood tests",
        "Do not stop or change your medicines without talking to your prescriber",
        "so\u00adftly",  # replaced below: an invisible character
    ],
)
def test_quote_is_found(quote):
    """White space, case, typography, markup, an ellipsis and a slip of one letter do not matter."""
    quote = "need regu\u00adlar blood\u200b tests" if quote == "so\u00adftly" else quote
    assert is_verbatim_quote(quote, MEDICINES.text)


@pytest.mark.parametrize(
    "quote",
    [
        "Stopping suddenly cannot make symptoms come back. Do not stop or change your medicine without talking to your prescriber.",
        "Stopping suddenly will make symptoms come back. Do not stop or change your medicine without talking to your prescriber.",
        "Do stop or change your medicine without talking to your prescriber. Clozapine is used when two other",
        "Do not stop or change your medicine without talking to your neighbour.",
        "Clozapine is used when three other medicines have not helped enough. People who take clozapine need regular blood tests",
        "Olanzapine is used when two other medicines have not helped enough. People who take clozapine need regular blood tests",
        "A usual dose starts at 125 mg once a day",
        "A usual dose starts at 2.5 mg once a day",
        "5 mg once a day. It isn't known",
        "A usual dose starts at 12.5 g once a day",
        "A usual dose starts at 12.5 mg twice a day",
        "It is known to be unsafe for older people",
        "It isn't known to be safe for older people",
        "safe for older people",
        "Do now stop or change your medicine without talking to your prescriber",
        "Peoples who takes clozapin need regulal bloods testss",
        "common side effects are: sleepy or dizzy",
        "higher blood sugar and weight gain",
    ],
)
def test_changed_quote_is_not_found(quote):
    """A changed number, dose, drug, negation, certainty, condition or order changes the statement, even in a long quote."""
    assert not is_verbatim_quote(quote, MEDICINES.text)


@pytest.mark.parametrize(
    "quote",
    ["", " ", "...", "… … …", "clozapine", "the dose", "- - - - - - - - - - - - -", "of of of", "that the an a the"],
)
def test_short_quote_supports_nothing(quote):
    """One or two words occur in any text."""
    assert not is_verbatim_quote(quote, MEDICINES.text + " the dose of of of")


@pytest.mark.parametrize(
    "quote",
    [
        "Do ... stop ... your medicine",  # of small pieces anything can be made
        "People who take clozapine ... stop or change your medicine",  # not in this order
        "Do not stop or change ... Most adults need seven to nine hours",  # not in one source
        "Common side ... weight gain, and higher blood sugar",  # a piece is too short
        "Clozapine is used when ... helped enough. People",  # swallows `have not`
        "It isn't known ... weight gain, and higher invented words",
    ],
)
def test_stitched_quote_is_not_found(quote):
    """An ellipsis must not create a statement that the source does not make."""
    assert not is_verbatim_quote(quote, MEDICINES.text)


def test_distant_passages_are_not_one_quote():
    """An ellipsis may omit only a short passage."""
    text = f"Clozapine can be helpful {'and so on ' * 30}in every single case."
    assert not is_verbatim_quote("Clozapine can be helpful ... in every single case", text)
    assert is_verbatim_quote("Clozapine can be helpful ... in every single case", text.replace("and so on " * 20, ""))


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("突然停药会让症状回来", "请注意：突然停药会让症状回来，请先问医生。"),
        ("внезапный отказ от лекарства опасен", "Помните: внезапный отказ от лекарства опасен."),
        ("दवा अचानक बंद न करें", "कृपया दवा अचानक बंद न करें।"),
        ("plötzliches Absetzen ist gefährlich", "Merke: plötzliches Absetzen ist gefährlich!"),
    ],
)
def test_quotes_are_found_in_any_script(quote, text):
    """Sources may be in any language, also without spaces between words. A missing word is noticed there too."""
    assert is_verbatim_quote(quote, text)
    assert not is_verbatim_quote(
        quote, text.replace("不", "").replace("停", "").replace("отказ ", "").replace("न ", "").replace("Ab", "")
    )


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("Atypical medicines can cause weight gain", "Typical medicines can cause weight gain."),  # a prefix is no slip
        ("दवा अचानक बंद न करो", "दवा अचानक बंद न करें"),  # a vowel sign is part of its word
    ],
)
def test_small_change_of_a_word_can_be_another_word(quote, text):
    """A slip of one letter is allowed only in words where it is unlikely to give another word."""
    assert not is_verbatim_quote(quote, text)


@given(st.data())
def test_every_run_of_words_is_quoted_whatever_its_white_space(data):
    """Any passage of at least twelve characters is found if it is cut between words."""
    words = re.findall(r"[\w'.]*\w", MEDICINES.text)
    start = data.draw(st.integers(0, len(words) - 4))
    run = words[start : start + data.draw(st.integers(3, 40))]
    spaces = st.sampled_from([" ", "  ", "\n", "\t", "\u00a0", " \r\n "])
    quote = "".join(word + data.draw(spaces) for word in run)
    if len(" ".join(run)) >= 14:  # a loose full stop is no character of a word
        assert is_verbatim_quote(quote, MEDICINES.text)
        assert is_verbatim_quote(quote.upper(), MEDICINES.text)


texts = st.text(st.characters(codec="utf-8"), max_size=200)


@given(texts)
def test_text_quotes_itself(text):
    """A text quotes itself if its words have at least twelve characters. A text without words quotes nothing."""
    enough = len(re.sub(r"[\W_]", "", text)) >= 12
    if enough:
        assert is_verbatim_quote(text, f"({text})")
    if not re.search(r"\w|[%‰°$£€<>≤≥±]|[^\x00-\x7f]", text):
        assert not is_verbatim_quote(text, text)

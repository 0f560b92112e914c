"""Comparison of the numbers in a reply and in its documents, in all forms."""

import time

import pytest

from judges.case import Case, HistoryMessage
from judges.numbers import numbers_hold, unsupported_numbers
from knowledge_base.library import Source


def case(reply: str, *documents: str, **fields: object) -> Case:
    cited = tuple(Source(f"doc:{i}", "Counts", "", text, trusted=False) for i, text in enumerate(documents, 1))
    return Case("How many were there?", reply, cited=cited, **fields)  # type: ignore[arg-type]


FAITHFUL = {
    "thousands": [
        ("1,800 people", "1800"), ("1.800 Besucher", "1800"), ("1 800 people", "1,800"), ("1\u202f800 people", "1,800"),
        ("1\u00a0800 people", "1800"), ("1\u2009800 people", "1.800"), ("1'800 people", "1800"), ("1’800 people", "1 800"),
        ("1234567", "1,234,567"), ("1 234 567", "1.234.567"), ("12,34,567", "1234567"), ("480 000", "480,000"),
        ("480 300 were there", "480 and 300"), ("100,200,300", "100 200 300"),
    ],
    "decimals": [
        ("1,234.50", "1234.5"), ("1.234,50", "1234.5"), ("1 234,50", "1234.5"), ("1.0", "1"), ("0,5", ".5"),
        ("2½ hours", "2.5 hours"),
        ("2⅓", "2 1/3"), ("½ of it", "1/2"), ("1/2 of it", "½"), ("4.8e5", "480000"), ("480000", "4.8e5"),
        ("$1,800.00", "1800"),
        ("10⁶", "10^6"),
    ],
    "percent": [("3.5 %", "3.5%"), ("3,5 %", "3.5 percent"), ("20 per cent", "20%"), ("5%", "0.05"), ("0.05", "5 %")],
    "ranges": [
        ("10-20 people", "between 10 and 20"), ("10–20", "10 to 20"), ("two to three million", "2 to 3 million"),
        ("2 million to 3 million", "2-3 million"), ("between fifty and sixty", "50 to 60"),
        ("between one hundred and two hundred", "100-200"),
    ],
    "dates": [
        ("on 2024-05-03", "3/5/2024"), ("on 3 May 2024", "May 3, 2024"), ("am 3.5.2024", "03.05.2024"),
        ("at 12.30", "12:30"),
        ("at 12:30", "12.30"), ("In 2023", "2023"), ("nineteen eighty-four", "1984"),
    ],
    "ordinals": [
        ("the 1st of 3", "1, 3"), ("the 21st", "twenty-first"), ("twenty-first", "21"), ("3rd", "third"),
        ("the twelfth", "12th"),
    ],
    "signs": [("-5 degrees", "-5"), ("−5 degrees", "-5"), ("fell by 5 degrees", "-5")],
    "units": [
        ("5mg", "5 mg"), ("5 mg", "5mg"), ("€480", "480 euros"), ("a 480-page book", "480 pages"),
        ("vitamin B12", "B12"),
    ],
    "markers": [
        ("1. First\n2. Second\n3. Third", ""), ("1) First\n2) Second", ""),
        ("- 1. First\n  1. Nested\n  2. Nested\n- 2. Second", ""),
        ("Step 3", "3. Do it"),
    ],
    "references": [("As said [1].", ""), ("people [1][2] and [1, 2]", ""), ("see doc:1", ""), ("see [doc:1]", "")],
    "versions": [
        ("version 3.11.5", "Python 3.11.5"), ("v2.0", "2.0"), ("192.168.1.1", "192.168.1.1"),
        ("Section 3.2.1", "3.2.1"),
    ],
    "words": [
        ("four hundred and eighty", "480"), ("480", "four hundred and eighty"), ("one thousand two hundred", "1,200"),
        ("twelve hundred", "1200"), ("one of them", ""), ("thousands of people", ""), ("a million people", "1,000,000"),
        ("two thousand and five", "2005"), ("thirty second break", "30"),
    ],
    "scripts": [("４８０ people", "480"), ("٤٨٠ people", "480"), ("480", "४८०"), ("١٬٨٠٠", "1800"), ("③", "3")],
    "rounded": [
        ("about 480", "479"), ("around 500", "480"), ("almost 500", "480"), ("more than 400", "410"),
        ("over 450", "462"), ("~480", "479"),
        ("approx. 1.8 million", "1,834,212"), ("about €480", "478.60"), ("nearly forty", "39"), ("34.8%", "0.34782608"),
        ("35 %", "34.782608"), ("12.3 years", "12.3456"),
    ],
    "scales": [
        ("2 million", "2,000,000"), ("2.5 million", "2500000"), ("2,000,000", "2 million"), ("two million", "2000000"),
        ("10k", "10,000"), ("2m people", "2 million"), ("3bn", "3 billion"), ("480 million", "USD in millions: 480"),
        ("5 m", "5 metres"),
    ],
    "markup": [
        ("**480** people", "480"), ("`480`", "480"), ("| 480 | 30 |", "480, 30"), ('{"count": 480}', "480"),
        ("(480).", "480"),
    ],
}  # fmt: skip
CHANGED = {
    "thousands": [
        ("1,900", "1800"), ("1.900", "1800"), ("1 900", "1800"), ("1\u202f900", "1,800"), ("1\u2009900", "1,800"),
        ("1’900", "1800"),
        ("1'900", "1800"), ("480000", "480"), ("480, 301", "480, 300"), ("490 30", "480 30"), ("1800", "18"),
        ("12345678901234567890", "12345678901234567891"),
    ],
    "decimals": [
        ("1,234.51", "1234.5"), ("1.234,51", "1234.5"), ("480.5", "480"), ("480", "480.5"), ("18", "1.8"), ("10.5", "10 5"),
        ("3½", "2½"), ("10⁵", "10⁶"), ("4.9e5", "480000"),
    ],
    "percent": [("3.6 %", "3.5%"), ("21%", "20 percent"), ("6%", "0.05"), ("0.06", "5%")],
    "ranges": [("10-21", "10 to 20"), ("11–20", "10 to 20"), ("2 to 4 million", "2 to 3 million")],
    "dates": [
        ("2024-05-04", "2024-05-03"), ("4 May 2024", "3 May 2024"), ("May 3, 2023", "May 3, 2024"),
        ("4.5.2024", "03.05.2024"),
        ("at 12:31", "12:30"), ("at 10:15", "10:30, 15 people"), ("nineteen eighty-five", "1984"), ("In 2024", "2023"),
    ],
    "ordinals": [("22nd", "21st"), ("twenty-second", "21st"), ("the thirteenth", "12th")],
    "signs": [("-6 degrees", "-5")],
    "units": [("6mg", "5 mg"), ("€490", "480"), ("a 490-page book", "480"), ("vitamin B13", "B12")],
    "markers": [
        ("There were:\n490. ", "480"), ("12. It was", "13"), ("In total:\n12.\nAll of them.", ""),
        ("1. First\n3. Third", ""),
    ],
    "references": [("480 people [490]", "480"), ("doc:1 has doc:490", "480")],
    "versions": [("3.11.6", "3.11.5"), ("192.168.1.2", "192.168.1.1"), ("+47 22 22 22 23", "+47 22 22 22 22")],
    "words": [
        ("four hundred and ninety", "480"), ("490", "four hundred and eighty"), ("fifteen", "12"),
        ("three million", "2000000"),
        ("one hundred and one", "100, 1"), ("fifty and sixty", "50"), ("fifty-six", "5060"),
    ],
    "scripts": [
        ("４９０ people", "480"), ("٤٩٠ people", "480"), ("④⑨⓪", "480"), ("4\u200b90", "480"), ("4\u00ad90", "480"),
        ("١٬٩٠٠", "1800"),
    ],
    "rounded": [
        ("about 530", "479"), ("about 490", "480"), ("over 500", "480"), ("nearly 400", "410"), ("about 481", "479"),
        ("36 %", "34.782608"),
        ("12 mg", "12.5 mg"), ("up to 490", "480"),
    ],
    "scales": [
        ("3 million", "2,000,000"), ("2.6 million", "2500000"), ("2 billion", "2 million"), ("2 thousand", "2 million"),
        ("480 million", "480"), ("480", "480 million"), ("10k", "10"), ("11k", "10k"),
    ],
    "markup": [("**490** people", "480"), ("| 490 |", "480"), ('{"count": 490}', "480"), ("490 people.[2]", "480")],
}  # fmt: skip


@pytest.mark.parametrize("form", FAITHFUL)
def test_a_faithful_restatement_is_supported(form: str) -> None:
    """This holds for all forms of numbers in replies and documents."""
    wrong = [pair for pair in FAITHFUL[form] if unsupported_numbers(case(*pair))]
    assert not wrong


@pytest.mark.parametrize("form", CHANGED)
def test_a_changed_digit_is_found(form: str) -> None:
    """This holds for the same forms."""
    wrong = [pair for pair in CHANGED[form] if not unsupported_numbers(case(*pair))]
    assert not wrong


def test_numbers_are_told_as_they_are_written() -> None:
    """The reader can find them in the reply."""
    assert unsupported_numbers(case("Of 1,900 people, twenty-one left; 30 stayed.", "30 stayed")) == {
        "1,900",
        "twenty-one",
    }


def test_what_the_user_and_titles_name_is_supported() -> None:
    """A reply may repeat figures of the user's messages, but not those of earlier replies."""
    said = (HistoryMessage("user", "I have 17 plants."), HistoryMessage("assistant", "And 23 pots."))
    assert not unsupported_numbers(case("Your 17 plants.", "", history=said))
    assert unsupported_numbers(case("Your 23 pots.", "", history=said))
    titled = Source("doc:1", "Visitors in 2024", "", "Many.", trusted=False)
    assert not unsupported_numbers(Case("How many?", "In 2024 many came.", cited=(titled,)))


def test_sections_alone_are_not_held_against() -> None:
    """Sections are prose, which judges compare sentence by sentence."""
    section = Source("sleep", "Sleep", "", "Seven to nine hours.")
    assert not unsupported_numbers(Case("How long?", "15 hours.", cited=(section,)))


def test_a_statement_may_rest_on_two_documents() -> None:
    """The numbers of an assertion need not all be in the document that its judge quotes."""
    both = case("In May 480 came and in June 390.", "May: 480", "June: 390")
    assert numbers_hold("In May 480 came and in June 390.", both)
    assert not numbers_hold("In May 490 came.", both)


LONG = {
    "digits": "1", "grouped": ",111", "commas": "1,", "spaced": "1 ", "words": "twenty ", "and": "twenty and ",
    "brackets": "[1,", "lines": "\n",
    "spaces": " ", "dashes": "- ", "hedges": "about 12 ", "glued": "1a", "dots": "1.", "scales": "2 to ",
    "exponents": "1e", "raised": "2²",
    "computed": "0.123456789 ", "markers": "1. a\n",
}  # fmt: skip


@pytest.mark.parametrize("form", LONG)
def test_long_texts_are_read_in_time_that_grows_with_them(form: str) -> None:
    """Quadratic time would take minutes for these texts."""
    text = LONG[form] * (200_000 // len(LONG[form]))
    started = time.process_time()
    unsupported_numbers(case(text, "5"))
    unsupported_numbers(case("About 7.", text))
    assert time.process_time() - started < 8


def test_a_megabyte_is_read() -> None:
    """Identifiers of any length count as numbers."""
    assert unsupported_numbers(case("1" * 1_000_000 + " million", "1" * 999_999 + "2 million"))


def test_heads_of_tables_scale_what_is_written_once() -> None:
    """Many table headers do not multiply, and an endless number is not a number."""
    text = "in thousands, in millions, in billions: 5 and " + "1" * 50_000
    assert unsupported_numbers(case("There are 5 million.", text)) == frozenset()
    assert unsupported_numbers(case("There are 5,000,000,000,000,000.", text))

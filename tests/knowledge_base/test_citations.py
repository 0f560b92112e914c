"""The chatbot's commands: parsed leniently, never shown to users, and never accepted from users."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_base import citations
from knowledge_base.citations import CLASSES, line, neutralise, parse, problems, split, strip_lines

LIBRARY = {"causes": "C", "who-gets-it": "W", "stress": "S"}
PIECES = st.sampled_from(
    ["[", "[[", "]", "]]", "［", "【", "】", "］］", "\\[", "\\", "cite", "Cite", "source", "foo", "causes", "a-b",
     "own_role", ":", "：", ",", " ", "\n", "\n\n", "\r\n", "\t", "\u200b", "\u2060", "\ufeff", "**", "*", "`", "_",
     '"', ">", "- ", "text", ".",
     "ｃｉｔｅ", "é", "\u2028", "[[cite: causes]]", "[cite: ", "[[source: "]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=40)


@pytest.mark.parametrize(
    "reply",
    [
        "[[cite: causes, stress]]\n\nGenes play a part.",
        "[[cite: causes, stress]]\nGenes play a part.",
        "[[cite: causes, stress]] Genes play a part.",
        "[[CITE : causes , stress ]]\n\nGenes play a part.",
        "[[ cite:causes,stress ]]\n\nGenes play a part.",
        "**[[cite: causes, stress]]**\n\nGenes play a part.",
        "**[[cite: causes, stress]]** Genes play a part.",
        "`[[cite: causes, stress]]`\nGenes play a part.",
        "[[**cite**: causes, stress]]\nGenes play a part.",
        "> [[cite: causes, stress]]\n\nGenes play a part.",
        "[[cite: \"causes\", 'stress']]\nGenes play a part.",
        "[[cite: “causes”, `stress`]]\nGenes play a part.",
        "［［cite：causes，stress］］\nGenes play a part.",
        "[\u200b[ci\u200bte: causes, str\ufeffess]\u2060]\nGenes play a part.",
        "\\[\\[cite: causes, stress\\]\\]\nGenes play a part.",
        "[[cite: causes; stress]]\nGenes play a part.",
        "[[cite:\tcauses,\x7f stress]]\nGenes play a part.",
        "[[cite: causes,\nstress]]\nGenes play a part.",
        "[[cite: causes]]\n[[cite: stress]]\n\nGenes play a part.",
        "[[cite: causes]] [[cite: stress, causes]]\nGenes play a part.",
        "Genes play a part.\n\n[[cite: causes, stress]]",
        "Genes play [[cite: causes]] a part [[cite: stress]].",
        "Genes play a part[[cite: causes, stress]].",
        "[[citations: causes, stress]]\nGenes play a part.",
        "[[cite causes, stress]]\nGenes play a part.",
        "[cite: causes, stress]\nGenes play a part.",
        "【cite: causes, stress】\nGenes play a part.",
        "[[cite: causes, stress]\nGenes play a part.",
        "[[cite: causes, stress\nGenes play a part.",
        "Genes play a part.\n[[cite: causes, stress",
        "\r\n[[cite: causes, stress]]\r\n\r\nGenes play a part.\r\n",
    ],
)
def test_a_citation_is_read_however_it_is_written(reply: str) -> None:
    """All spellings cite the same two sections and leave the same text."""
    parsed = parse(reply)
    assert parsed.citations == ("causes", "stress")
    assert parsed.text == "Genes play a part."
    assert parsed.unknown == parsed.requested == ()


def test_a_citation_keeps_its_spelling_and_is_named_once() -> None:
    """Messages about errors quote the citation as the chatbot wrote it."""
    assert parse("[[cite: Causes, causes, Nope]]").citations == ("Causes", "Nope")


def test_a_markdown_escaped_class_is_read() -> None:
    """Chatbots escape underscores with a backslash."""
    assert parse("[[cite: own\\_role]]\nHello.").citations == ("own_role",)


def test_a_reply_without_commands_is_its_own_text() -> None:
    """Only surrounding white space is removed."""
    assert parse(" One [1].\n\n\n  Two [[3, 4]]. \n").text == "One [1].\n\n\n  Two [[3, 4]]."


@pytest.mark.parametrize(
    "text",
    [
        "[[1, 2], [3, 4]]",
        "if [[ -f file ]]; then",
        "see [[note]] here",
        "[[:alpha:]]",
        "x[[a:b]]",
        "[source: WHO]",
        "[citing: x]",
    ],
)
def test_other_brackets_are_text(text: str) -> None:
    """Double brackets without a command are ordinary text."""
    parsed = parse(text)
    assert parsed.text == text
    assert not parsed.citations + parsed.requested + parsed.unknown


@pytest.mark.parametrize(
    ("reply", "unknown", "text"),
    [
        ("[[foo: x]]\nHi.", ("[[foo: x]]",), "Hi."),
        ("Hi [[Foo-bar: x]] there.", ("[[Foo-bar: x]]",), "Hi there."),
        ("[[causes, stress]]\nHi.", ("[[causes, stress]]",), "Hi."),
        ("Hi.\n\n[[who-gets-it]]", ("[[who-gets-it]]",), "Hi."),
        ("[[foo: x", ("[[foo: x",), ""),
    ],
)
def test_an_unknown_command_is_found_and_not_shown(reply: str, unknown: tuple[str, ...], text: str) -> None:
    """A name with a colon, or a line of bare ids, is an unknown command."""
    parsed = parse(reply)
    assert parsed.unknown == unknown
    assert parsed.text == text
    assert parsed.citations == ()


def test_a_source_is_asked_for() -> None:
    """A reply that is only a command has an empty text."""
    assert parse(" [[source: Stress]]\n") == citations.ParsedReply("", requested=("Stress",))
    assert citations.requested_sections(parse("[[Source: Stress, nope]]"), LIBRARY) == ("stress",)


def test_an_unterminated_command_is_never_shown() -> None:
    """The prose after the ids is shown."""
    assert parse("[[cite: causes Genes play a part.").text == "Genes play a part."
    assert parse("Genes.\n[[cite:").text == "Genes."
    assert parse("Genes. [[cite").text == "Genes."


def test_paragraphs_and_lists_survive_the_cut() -> None:
    """Removing commands leaves no extra blank lines, and nested items keep their indentation."""
    assert parse("One.\n\n[[cite: a]]\n\nTwo.").text == "One.\n\nTwo."
    assert parse("One.\n[[cite: a]]\nTwo.").text == "One.\nTwo."
    assert parse("One.\n\n[[cite: a]]\n\n[[cite: b]]\n\nTwo.").text == "One.\n\nTwo."
    assert parse("- one [[cite: a]]\n  - two [[cite: b]]\n- three").text == "- one\n  - two\n- three"
    assert parse("One.\n- [[cite: a]]\n").text == "One."


def test_characters_that_were_folded_to_read_commands_stay_in_the_text() -> None:
    """Joined emoji and full-width punctuation stay unchanged."""
    assert parse("[[cite: a]]\n👩‍⚕️ says：no；ok\tx").text == "👩‍⚕️ says：no；ok\tx"


@given(TEXTS)
def test_no_command_is_left_in_the_text(reply: str) -> None:
    """Nested commands do not leave a command either."""
    again = parse(parse(reply).text)
    assert not again.citations + again.requested + again.unknown


def test_a_command_that_appears_when_another_is_cut_out_is_inert() -> None:
    """The new command is neither executed nor left unchanged."""
    parsed = parse("[[[[cite: a]]cite: b]]")
    assert parsed.citations == ("a",)
    assert parse(parsed.text).citations == ()


@given(TEXTS)
def test_neutralised_text_has_no_command(text: str) -> None:
    """A user cannot give a command in any spelling that the parser accepts."""
    parsed = parse(neutralise(text))
    assert not parsed.citations + parsed.requested + parsed.unknown


@given(TEXTS)
def test_neutralising_twice_changes_nothing_more(text: str) -> None:
    """The function is idempotent and only adds spaces."""
    once = neutralise(text)
    assert neutralise(once) == once
    assert once.replace(" ", "") == text.replace(" ", "")


def test_neutralised_commands_stay_readable() -> None:
    """The chatbot still sees what the user wrote, and other brackets stay unchanged."""
    assert neutralise("say [[cite: own_role]] now") == "say [ [ cite: own_role]] now"
    assert neutralise("m = [[1, 2], [3]]; if [[ -f x ]]") == "m = [[1, 2], [3]]; if [[ -f x ]]"


@given(st.lists(st.sampled_from([*CLASSES, "causes", "who-gets-it", "x"]), min_size=1, unique=True))
def test_a_written_command_is_read_back(names: list[str]) -> None:
    """`parse` reads what `cite_command` writes."""
    assert parse(citations.cite_command(names) + "\nText.") == citations.ParsedReply("Text.", tuple(names))


def test_citations_are_sorted_into_sections_classes_and_bad_ones() -> None:
    """A section that was not inserted is as invalid as a section that does not exist."""
    written = ("Causes", "who gets it", "stress", "Own-Role", "nope", "causes")
    assert split(written, LIBRARY, {"causes", "who-gets-it"}) == (("C", "W"), ("own_role",), ("stress", "nope"))


def test_good_replies_have_no_problem() -> None:
    """Citations of inserted sections, citation classes and requests are valid."""
    for reply in ("[[cite: causes]]\nHi.", "[[cite: no_claims]]\nHi.", "[[source: stress]]"):
        assert problems(parse(reply), LIBRARY, ["causes"]) == []


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("Hi.", ["no citation line", "[[cite: ID, ID]]", "causes", "no_claims"]),
        ("[[cite: ]]\nHi.", ["no citation line"]),
        ("[[cite: casues]]\nHi.", ["'casues'", "does not exist", "did you mean causes?"]),
        ("[[cite: stress]]\nHi.", ["stress", "not given to you", "[[source: stress]] alone"]),
        ("[[cite: causes]] [[foo: x]]\nHi.", ["'[[foo: x]]' is not a command", "[[source: ID]]"]),
        ("[[source: strss]]", ["'strss'", "does not exist", "did you mean stress?"]),
    ],
)
def test_a_problem_tells_the_chatbot_what_would_be_right(reply: str, parts: list[str]) -> None:
    """Each problem has one message, which is addressed to the chatbot."""
    found = problems(parse(reply), LIBRARY, ["causes"])
    assert len(found) == 1
    for part in parts:
        assert part in found[0]


def test_every_problem_is_told() -> None:
    """All problems are reported, so that one redraft can correct them. Long citations are truncated."""
    found = problems(parse("[[cite: nope, stress]] [[foo: " + "x" * 500 + "]]"), LIBRARY, ["causes"])
    assert len(found) == 3
    assert max(map(len, found)) < 300


@given(st.text(), st.lists(st.text(min_size=1).filter(str.strip), min_size=1))
def test_a_shown_line_is_removed_exactly(text: str, titles: list[str]) -> None:
    """Adding and removing the line of sources leaves every reply unchanged."""
    shown = line(titles)
    assert strip_lines(text + shown) == text


def test_the_shown_line_is_readable() -> None:
    """The line has a blank line before it and lists the titles."""
    assert line(["Causes", "Stress; and more"]) == "\n\nSources: Causes; Stress, and more"
    assert line([]) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Hi. Sources: WHO",
        "Hi.\nSources: WHO",
        "Hi.\n\nSources: ",
    ],
)
def test_only_a_paragraph_of_sources_is_removed(text: str) -> None:
    """The word "Sources:" within the chatbot's text stays."""
    assert strip_lines(text) == text


@pytest.mark.parametrize(
    "unit",
    ["[[cite: a]]", "[[cite: a", "[[", "[", "[[cite:", "[[cite: a]]\n", "[[a]] ", " ", ",   ", "\n", "[[foo: ,", "\\[",
     "\u200b", "[[cite" + " " * 39, "[cite:", "**[[a]]**", "a, ", "[[cite: " + "a," * 900, "x\n\n[[cite: b]]\n\n",
     "\n\nSources: a"],
)  # fmt: skip
def test_a_long_text_is_read_in_linear_time(unit: str) -> None:
    """Sixteen times the text takes about sixteen times as long, not 256 times."""

    def seconds(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        started = time.process_time()
        parse(text)
        neutralise(text)
        strip_lines(text)
        return time.process_time() - started

    small, large = seconds(20_000), seconds(320_000)
    assert large < 80 * small + 0.5

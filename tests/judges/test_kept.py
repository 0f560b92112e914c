"""Keeping what was found out about texts."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from judges.kept import ENTRY, MOST_CHARACTERS, Answers, Remembered, kept


def test_a_text_that_comes_again_is_not_worked_on_again() -> None:
    """Once for each text."""
    asked: list[str] = []
    upper = kept(lambda text: asked.append(text) or text.upper())
    assert [upper(text) for text in ("a", "b", "a")] == ["A", "B", "A"]
    assert asked == ["a", "b"]


def test_what_is_kept_is_bounded_by_characters() -> None:
    """Of many texts the first is forgotten; the last is known."""
    asked: list[str] = []
    length = kept(lambda text: asked.append(text) or len(text))
    texts = [f"{n:02d}" + "x" * (MOST_CHARACTERS // 10 - 2) for n in range(11)]
    for text in (*texts, texts[-1], texts[0]):
        assert length(text) == len(text)
    assert asked == [*texts, texts[0]]


def test_many_tiny_texts_are_bounded_too() -> None:
    """Their letters are few, and what holds them takes memory all the same."""
    asked: list[str] = []
    length = kept(lambda text: asked.append(text) or len(text))
    texts = [str(n) for n in range(MOST_CHARACTERS // ENTRY)]
    for text in (*texts, texts[0]):
        length(text)
    assert asked == [*texts, texts[0]]


def test_a_text_of_great_length_is_not_kept() -> None:
    """It would push out all others, and clients send what they like."""
    asked: list[str] = []
    length = kept(lambda text: asked.append(text) or len(text))
    long = "x" * MOST_CHARACTERS
    assert [length(long), length(long)] == [MOST_CHARACTERS] * 2
    assert len(asked) == 2


def test_words_are_remembered_within_a_bound():
    """What comes again is not found out again; a long text is not kept, and the memory begins anew when it is full."""
    asked = []

    def find_out(word):
        asked.append(word)
        return word.upper()

    known = Remembered(find_out, most=3, longest=5)
    assert [known[word] for word in ("a", "b", "a", "longer", "longer")] == ["A", "B", "A", "LONGER", "LONGER"]
    assert asked == ["a", "b", "longer", "longer"]
    for word in "cdefgh":
        assert known[word] == word.upper()
        assert len(known) <= 3


def test_of_several_things_only_the_new_ones_are_found_out() -> None:
    """Once each, within a bound; of more than that at once nothing is kept."""
    asked: list[list[str]] = []

    def found(things: Sequence[str]) -> list[str]:
        asked.append([*things])
        return [thing.upper() for thing in things]

    answers: Answers[str, str] = Answers(3)

    def told(text: str) -> str:
        return "".join(answers.of([hash(letter) for letter in text], text, found))

    texts = ["aba", "bca", "", "abcdd", "cba", "dd", "d"]
    assert [told(text) for text in texts] == [text.upper() for text in texts]
    assert asked == [["a", "b"], ["c"], [*"abcd"], ["d"]]
    assert len(answers) == 1


def test_what_is_asked_meanwhile_takes_nothing_away() -> None:
    """Another thread may fill and empty the same memory while something is found out."""
    answers: Answers[str, str] = Answers(3)

    def upper(things: Sequence[str]) -> list[str]:
        return [thing.upper() for thing in things]

    def interrupted(things: Sequence[str]) -> list[str]:
        for others in ("cde", "fgh"):
            answers.of([hash(letter) for letter in others], others, upper)
        return upper(things)

    answers.of([hash("a")], "a", upper)
    assert answers.of([hash("a"), hash("b")], "ab", interrupted) == ["A", "B"]


def test_many_threads_are_told_the_same() -> None:
    """Words, texts and things asked about together, past the bound of each."""
    words, lengths = Remembered(str.upper, most=7), kept(len)
    answers: Answers[str, str] = Answers(7)
    texts = [str(n) * 3000 for n in range(400)]

    def ask(first: int) -> bool:
        mine = texts[first:] + texts[:first]
        together = [mine[n : n + 5] for n in range(0, 400, 5)]
        told = [answers.of(list(map(hash, five)), five, list) for five in together]
        return (
            [words[text] for text in mine] == mine
            and told == together
            and [lengths(text) for text in mine] == list(map(len, mine))
        )

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(ask, range(0, 400, 25)))

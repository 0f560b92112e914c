"""The local refiner: keeps whole sentences that the sources support, and says that there is no more."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from judges import phrases
from judges.case import Case
from judges.local.claims import JudgedSentence, read_reply
from judges.local.language import Unreadable
from judges.sentences import normalise

OMITTED = (
    "My sources do not say more about this. Please check with a qualified professional before you act on anything else."
)
NOTHING = "I am sorry, but this is not in my sources, so I cannot answer it. Please ask a qualified professional."
HELP, HELP_WITH = "I can only answer questions that my sources cover.", "I can tell you about {titles}."
_GOES_ON = re.compile(
    r"(?:but|unless|except|only|provided|before|after|until|up to|otherwise|this|that|these|it|they)\b", re.I
)
"""How a sentence begins that sets a condition for the one before it, or speaks of it: both stay, or neither does."""
_CONDITION = re.compile(r"\b(?:if|unless|when|provided|only|must|need|requires?)\b", re.I)


def refine(case: Case, unwanted_texts: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Rewrite a reply so that it says only what its sources support, and what asserts nothing.

    Args:
        case: The rejected reply, with its sources.
        unwanted_texts: Texts that must not be said again, such as quotes of role-play.

    Returns:
        The new reply, and the ids of the sources it still rests on; none when nothing supported is left.
    """
    unwanted = [phrase for text in unwanted_texts if (phrase := _fold(text))]
    try:
        judged = read_reply(case)
    except Unreadable:
        judged = ()
    groups = [(group, all(_may_stay(one, unwanted) for one in group)) for group in _groups(judged)]
    kept: list[JudgedSentence] = []
    is_whole, after_dropped = all(stays for _, stays in groups), False
    for group, stays in groups:
        asserts = any(one.assertion for one in group)
        if stays and (asserts or is_whole or not (after_dropped or any(map(_speaks_of_sources, group)))):
            kept += group
        after_dropped = not stays or (after_dropped and not asserts)
    ids = dict.fromkeys(one.assertion.source_id for one in kept if one.assertion is not None)
    if not ids:
        return _refusal(case), ()
    text = "".join((one.sentence.lead or " ") + one.sentence.text for one in kept).strip()
    return text if is_whole else f"{text}\n\n{OMITTED}", tuple(id for id in ids if id)


def _groups(judged: Sequence[JudgedSentence]) -> Iterator[list[JudgedSentence]]:
    """Yield sentences that stay or go together: one with its condition, and a list of conditions with the line before it."""
    group: list[JudgedSentence] = []
    for one in judged:
        before = group[0].sentence.text if group else ""
        is_item = "\n" in one.sentence.lead and before.rstrip().endswith(":") and _CONDITION.search(before)
        if group and not is_item and not _GOES_ON.match(one.sentence.text):
            yield group
            group = []
        group.append(one)
    yield group


def _may_stay(judged: JudgedSentence, unwanted: Sequence[str]) -> bool:
    sentence = _fold(judged.sentence.text)
    if any(text in sentence or sentence in text for text in unwanted) or phrases.takes_back(
        judged.sentence.text.lower()
    ):
        return False
    return judged.assertion is None or judged.assertion.support != "unsupported"


def _speaks_of_sources(judged: JudgedSentence) -> bool:
    lowered = judged.sentence.text.lower()
    return phrases.admits(lowered) != "no" or phrases.verifies(lowered) != "no"


def _refusal(case: Case) -> str:
    text = f"{NOTHING} {HELP_WITH.format(titles=', '.join(source.title for source in case.cited))}"
    try:
        names_titles = bool(case.cited) and not any(one.assertion for one in read_reply(replace(case, draft=text)))
    except Unreadable:  # titles in another language
        names_titles = False
    return text if names_titles else f"{NOTHING} {HELP}"


def _fold(text: str) -> str:
    return " ".join(normalise(text).casefold().split()).strip(" .!?\"'")

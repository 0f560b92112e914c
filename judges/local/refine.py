"""The local refiner: keeps what the sources support, says what is not from them, asks to verify."""

from collections.abc import Sequence
from dataclasses import replace

from judges import phrases
from judges.case import Case
from judges.local.claims import JudgedSentence, ReplyReading, read_reply
from judges.local.language import Unreadable
from judges.sentences import normalise, sentences

SILENT = "My sources do not say more about this."
OMITTED = f"{SILENT} Please check with a qualified professional before you act on anything else."
NOTHING = "I am sorry, but this is not in my sources, so I cannot answer it. Please ask a qualified professional."
HELP = "I can help with questions that my sources cover."
HELP_WITH = "I can tell you about {titles}."

_MAX_ROUNDS = 3
"""The remaining sentences are read again, since what a sentence counts as may depend on the others."""


def refine(case: Case, unwanted_texts: Sequence[str] = (), sent_text: str = "") -> tuple[str, tuple[str, ...]]:
    """Rewrite a reply so that it says only what its cited sources support, and what asserts nothing.

    Args:
        case: The rejected reply, with its sources.
        unwanted_texts: Texts that must not be said again, such as quotes of role-play.
        sent_text: The beginning of the reply, which the user has already received, up to the end of a sentence.

    Returns:
        The new reply, or what follows `sent_text`, and the ids of the sources it still rests on; none when nothing supported
        is left.
    """
    unwanted = [phrase for text in unwanted_texts if (phrase := _fold(text))]
    sent_count = sum(1 for _ in sentences(normalise(sent_text)))
    try:
        reading = read_reply(case)
        for _ in range(_MAX_ROUNDS):
            remaining, note = _drop_sentences(reading, unwanted, sent_count)
            if not remaining:
                break
            reading = read_reply(replace(case, draft=_join(remaining) + note))
            if all(a.support != "unsupported" for a in reading.claims.assertions):
                if sent_text.rstrip().endswith(SILENT):
                    note = note.replace(f"{SILENT} ", "")
                return (_join(remaining[sent_count:]) + note).strip(), _source_ids(remaining)
    except Unreadable:
        pass
    return OMITTED if sent_text else _refusal(case), ()


def _drop_sentences(
    reading: ReplyReading, unwanted: Sequence[str], sent_count: int
) -> tuple[Sequence[JudgedSentence], str]:
    """Return the sentences that stay, the first `sent_count` always, and the note to add after them."""
    sent, rest = reading.sentences[:sent_count], reading.sentences[sent_count:]
    remaining = [*sent, *(one for one in rest if _may_stay(one, unwanted))]
    if not any(one.assertion for one in remaining):
        return (), ""
    if len(remaining) == len(reading.sentences):
        return remaining, ""
    return [*sent, *_drop_leftovers(rest, remaining)], f"\n\n{OMITTED}"


def _drop_leftovers(rest: Sequence[JudgedSentence], remaining: Sequence[JudgedSentence]) -> list[JudgedSentence]:
    """Keep assertions, and other sentences unless they follow a dropped one or speak of the sources themselves."""
    result: list[JudgedSentence] = []
    after_dropped = False
    for judged in rest:
        if judged not in remaining:
            after_dropped = True
        elif judged.assertion is not None:
            after_dropped = False
            result.append(judged)
        elif not after_dropped and phrases.admits(judged.lowered) == "no" and phrases.verifies(judged.lowered) == "no":
            result.append(judged)
    return result


def _may_stay(judged: JudgedSentence, unwanted: Sequence[str]) -> bool:
    sentence = _fold(judged.sentence.text)
    if any(text in sentence or sentence in text for text in unwanted) or phrases.takes_back(judged.lowered):
        return False
    return judged.assertion is None or judged.assertion.support != "unsupported"


def _source_ids(sentences_left: Sequence[JudgedSentence]) -> tuple[str, ...]:
    ids = [one.assertion.source_id for one in sentences_left if one.assertion and one.assertion.source_id]
    return tuple(dict.fromkeys(ids))


def _join(sentences_left: Sequence[JudgedSentence]) -> str:
    return "".join((one.sentence.lead or " ") + one.sentence.text for one in sentences_left).strip()


def _refusal(case: Case) -> str:
    titles = ", ".join(source.title for source in case.cited)
    text = f"{NOTHING} {HELP_WITH.format(titles=titles)}"
    return text if titles and _asserts_nothing(replace(case, draft=text)) else f"{NOTHING} {HELP}"


def _asserts_nothing(case: Case) -> bool:
    try:
        return not read_reply(case).claims.assertions
    except Unreadable:  # titles in Greek
        return False


def _fold(text: str) -> str:
    return " ".join(normalise(text).casefold().split()).strip(" .!?\"'")

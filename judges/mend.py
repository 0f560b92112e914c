"""Pure: takes small additions out of a reply, or adds the statement that they lack. What is doubtful is left to the refiner."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judges.advice import touches_topic
from judges.case import Case
from judges.clauses import PART_SHARE, Edit, clause_edit
from judges.deletable import (
    WORD,
    announces_more,
    count_content_words,
    has_foreign_words,
    has_number,
    is_english,
    must_stay,
    refers_back,
    refers_to_deleted,
    reports_belief,
)
from judges.observation import Problem
from judges.phrases import admits, asserts_nothing, verifies
from judges.plain_text import plain
from judges.problems import are_small
from judges.sentences import Sentence, sentences

MOST_CHARS = 20_000
SENTENCE_SHARE = 0.9
"""Share of a sentence's content words from which a quote means the sentence, whatever clauses that has."""

_CLOSED = re.compile(r"[.!?…][\"'”’)\]*_]*$")
_INITIAL = re.compile(r"(?:^|\W)[A-Z]\.$")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*•–+]|(?P<number>\(?\d{1,3}[.)]|\(?[a-z]\)))\s+")
_HALF_OF_PAIR = re.compile(r"\b(?:and|or)\s*$|^\s*(?:and|or)\b")
_TRAILING_JOINER = re.compile(r"(?:[,;]|\b(?:and|or))$")
_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)", re.M)
_BAD_SEAM = re.compile(r"[,;:(–—-]\s?[.,;:!?)]|[ \t][.,;:!?)]|[ \t]{2}")
_TYPOGRAPHY = (
    dict.fromkeys(map(ord, "’‘ʼ´`"), "'")
    | dict.fromkeys(map(ord, "“”„«»"), '"')
    | dict.fromkeys(map(ord, "–—‑"), "-")
    | dict.fromkeys(map(ord, "*\u00ad\u200b\u200c\u200d\u2060\ufeff"))
)


@dataclass(frozen=True, slots=True)
class Statements:
    """What a reply says about its additions, in one language."""

    not_from_sources: str
    verify: str


def mend(case: Case, problems: Sequence[Problem], statements: Statements | None, sent_chars: int = 0) -> str | None:
    """Return the reply without its small additions, or with the statement that they lacked; None: it cannot be mended so.

    Args:
        case: The reply, and the topics on which nothing is mended.
        problems: All that is wrong with the reply.
        statements: What to add where an addition is only undisclosed; without them it is deleted.
        sent_chars: Characters at the beginning of the reply that the user has seen already.
    """
    text = case.draft
    if not are_small(problems) or len(text) > MOST_CHARS or text.lstrip()[:1] in ("{", "[", "`"):
        return None
    if case.topics and not is_english(text):
        return None  # nobody here knows what touches a sensitive topic in other languages
    spans = [_locate(p.quote, text) for p in problems]
    spots = [span for span in spans if span is not None and not _is_out_of_reach(case, *span)]
    if len(spots) < len(problems):
        return None
    deletions = [span for span, p in zip(spots, problems, strict=True) if p.kind == "beyond" or statements is None]
    for start, end in _merge_and_reverse(deletions):
        span = _locate(case.draft[start:end], text)  # the cut before may have moved it: "a, b and c" became "a and b"
        shortened = span and _delete_quote(text, *span, sent_chars)
        if not shortened:
            return None
        text = shortened
    if deletions and not any(map(_says_something, sentences(text))):
        return None
    undisclosed = [p for p in problems if p.kind == "undisclosed" and _locate(p.quote, text)]
    return _add_statements(text, statements, sent_chars) if statements and undisclosed else text


def _locate(quote: str, text: str) -> tuple[int, int] | None:
    """Return where a quote stands in a text, whatever its white space, case, quotes and emphasis; None unless exactly once."""
    characters: list[str] = []
    positions: list[int] = []
    for position, character in enumerate(text):
        for letter in character.translate(_TYPOGRAPHY).casefold():
            if not letter.isspace() or (characters and characters[-1] != " "):
                characters.append(" " if letter.isspace() else letter)
                positions.append(position)
    whole = "".join(characters)
    part = " ".join(quote.translate(_TYPOGRAPHY).casefold().split()).strip(" .,;:!?'\"…-")
    at, stop = whole.find(part), whole.find(part) + len(part)
    if not part or at < 0 or whole.find(part, at + 1) >= 0:
        return None
    if any(len(edge) == 2 and edge.isalnum() for edge in (whole[max(at - 1, 0) : at + 1], whole[stop - 1 : stop + 1])):
        return None  # it cuts a word
    return positions[at], positions[stop - 1] + 1


def _is_out_of_reach(case: Case, start: int, end: int) -> bool:
    """Tell whether a quote stands in a code block, or its sentence, with what stands before, touches a sensitive topic."""
    text = case.draft
    if len(_FENCE.findall(text, 0, start)) % 2:
        return True
    before = ""
    for sentence in sentences(text):
        if (
            sentence.start < end
            and sentence.start + len(sentence.text) > start
            and touches_topic(f"{before} {sentence.text}", case.topics)
        ):
            return True
        if not (before.endswith(":") and _ITEM.match(text, _line(text, sentence.start)[0])):
            before = sentence.text
    return False


def _merge_and_reverse(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans from the last to the first, those that overlap as one."""
    if len(spans) == 2 and max(spans)[0] < min(spans)[1]:
        return [(min(spans)[0], max(end for _, end in spans))]
    return sorted(spans, reverse=True)


def _delete_quote(text: str, start: int, end: int, sent_chars: int) -> str | None:
    """Return a text without what a quote says, at most two sentences; None where it cannot be taken out cleanly."""
    parts = [*sentences(text)]
    touched = [n for n, one in enumerate(parts) if one.start < end and one.start + len(one.text) > start]
    if not 1 <= len(touched) <= 2 or not is_english(text):
        return None
    for n in reversed(touched):
        parts = [*sentences(text)]
        sentence = parts[n]
        edit = _edit_part(text, parts, n, max(start - sentence.start, 0), min(end - sentence.start, len(sentence.text)))
        if edit is None or must_stay(edit.lost) or not _balanced(edit.lost) or verifies(plain(sentence.text)) != "no":
            return None
        begin = edit.start
        if text[begin:sent_chars].isspace():
            begin = min(sent_chars, edit.end)
        whole = edit.lost == sentence.text
        if reports_belief(parts[n - 1].text if whole and n else sentence.text.replace(edit.lost, "")):
            return None  # what is deleted may put it right
        if whole and refers_back(sentence.text, anywhere=True):
            return None
        if begin < sent_chars or refers_to_deleted(edit.lost, text[:begin], text[edit.end :]):
            return None
        if n + 1 < len(parts) and refers_back(parts[n + 1].text, anywhere=whole):
            return None
        text = text[:begin] + edit.new + text[edit.end :]
        if _BAD_SEAM.search(text, max(begin - 2, 0), begin + len(edit.new) + 2):
            return None
    return text


def _edit_part(text: str, parts: Sequence[Sentence], n: int, start: int, end: int) -> Edit | None:
    """Return how to take a part of a sentence out: the sentence, or a clause of it."""
    at, part_text = parts[n].start, parts[n].text
    first, last = _line(text, at)
    item = _ITEM.match(text, first, last)
    if text[first:last].lstrip()[:1] in ("#", ">", "|", "<") or "](" in part_text or "http" in part_text:
        return None
    if part_text.endswith(":") or has_foreign_words(part_text):
        return None
    if not _balanced(text[item.end() if item else first : at]):
        return None  # within a quotation, brackets or emphasis that began before it
    share = count_content_words(part_text[start:end]) / max(count_content_words(part_text), 1)
    if share < SENTENCE_SHARE and (edit := clause_edit(part_text, start, end)):
        return edit._replace(start=at + edit.start, end=at + edit.end)
    if share < PART_SHARE or (
        share < SENTENCE_SHARE and (_HALF_OF_PAIR.search(part_text[:start]) or _HALF_OF_PAIR.match(part_text[end:]))
    ):
        return None  # one of two subjects may be supported
    return _sentence_edit(text, parts, n)


# Sentences and list items


def _sentence_edit(text: str, parts: Sequence[Sentence], n: int) -> Edit | None:
    """Return how to delete a sentence, with its line where it is all that stands there."""
    edited = parts[n]
    first, last = _line(text, edited.start)
    item = _ITEM.match(text, first, last)
    before = parts[n - 1] if n and parts[n - 1].start >= first else None
    after = parts[n + 1] if n + 1 < len(parts) and parts[n + 1].start < last else None
    if _INITIAL.search(edited.text) or any(map(_opens_oddly, (before and edited, after))):
        return None
    if before and (_INITIAL.search(before.text) or not _CLOSED.search(before.text)):
        return None
    if not item and (
        not _CLOSED.search(edited.text) or any(announces_more(sentence.text) for sentence in parts[max(n - 2, 0) : n])
    ):
        return None
    above = text[slice(*_line(text, first - 1))].strip() if first else ""
    if not (item or before) and above and not _CLOSED.search(above):
        return None  # the sentence began in the line before, or that is its heading
    if after:
        return Edit(edited.start, after.start, "", edited.text) if before or not item else None
    if _continues(text, last, item):
        return None
    if before:
        return Edit(before.start + len(before.text), edited.start + len(edited.text), "", edited.text)
    return _line_edit(text, first, last, item, edited.text)


def _line_edit(text: str, first: int, last: int, item: re.Match[str] | None, lost: str) -> Edit | None:
    """Return how to delete a line, and the empty ones that it would leave double; None where a list or heading needs it."""
    above, below = text[:first].rstrip(), text[last:].lstrip()
    if item and not _may_leave_list(text, first, last, item):
        return None
    if not item and above and not _CLOSED.search(above):
        return None
    if not below:
        return Edit(len(above), len(text[:last].rstrip()), "", lost)
    apart = not above or text.count("\n", len(above), first) > 1
    return Edit(first, text.rfind("\n", 0, len(text) - len(below)) + 1 if apart else last + 1, "", lost)


def _may_leave_list(text: str, first: int, last: int, item: re.Match[str]) -> bool:
    """Tell whether a list does without an item: two stay, and their numbers, punctuation and heading are still right."""
    above, heading = _items(reversed(text[:first].split("\n")), len(item["indent"]))
    below, _ = _items(text[last:].split("\n"), len(item["indent"]))
    if len(above) + len(below) < 2 or has_number(heading) or (item["number"] and below):
        return False
    return bool(below) or _TRAILING_JOINER.search(above[0]) is None


def _items(lines: Iterable[str], indent: int) -> tuple[list[str], str]:
    """Return the items of a list from some line on, and the line that ends it."""
    items: list[str] = []
    for line in filter(str.strip, lines):
        depth = len(line) - len(line.lstrip())
        if depth < indent or (depth == indent and not _ITEM.match(line)):
            return items, line
        if depth == indent:
            items.append(line.rstrip())
    return items, ""


def _continues(text: str, last: int, item: re.Match[str] | None) -> bool:
    """Tell whether what follows a line belongs to it: the list that it introduces, or the rest of a list item."""
    lines = text[last + 1 :].split("\n")
    following = next(filter(str.strip, lines), "")
    if item is None:
        return _ITEM.match(following) is not None
    depth = len(following) - len(following.lstrip())
    return depth > len(item["indent"]) or (bool(lines[0].strip()) and not _ITEM.match(following))


def _opens_oddly(sentence: Sentence | None) -> bool:
    """Tell whether a sentence may be none of its own: a small letter, or an emoji that belongs to the one before."""
    return sentence is not None and (sentence.text[0].islower() or unicodedata.category(sentence.text[0])[0] == "S")


def _says_something(sentence: Sentence) -> bool:
    return (
        len(WORD.findall(sentence.text)) > 2
        and not sentence.text.endswith(":")
        and not asserts_nothing(plain(sentence.text))
    )


def _balanced(text: str) -> bool:
    """Tell whether brackets, quotation marks and emphasis are closed in a text."""
    pairs = all(text.count(left) == text.count(right) for left, right in ("()", "[]", "“”"))
    return pairs and not any(text.count(mark) % 2 for mark in ("**", "*", '"', "`", "_"))


def _line(text: str, at: int) -> tuple[int, int]:
    """Return where the line begins and ends that holds a place."""
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


# Statements


def _add_statements(text: str, statements: Statements, sent_chars: int) -> str | None:
    """Add the statements as a last paragraph, but for one that the reply makes already."""
    if statements.not_from_sources in text or len(_FENCE.findall(text)) % 2:
        return None
    plain_sentences = [plain(one.text) for one in sentences(text)]
    has_verify = statements.verify in text or any(verifies(one) == "clear" for one in plain_sentences)
    has_admission = not has_verify and any(admits(one) == "clear" for one in plain_sentences)
    added = ([] if has_admission else [statements.not_from_sources]) + ([] if has_verify else [statements.verify])
    body = text[: max(len(text.rstrip()), sent_chars)]
    line = "\r\n" if "\r\n" in text else "\n"
    return body + line * max(0, 2 - body[len(body.rstrip()) :].count("\n")) + " ".join(added)

"""Pure: takes a part out of an English sentence that is set off from it, so that a sentence stays."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from judges.deletable import WORD, count_content_words, has_limit, words
from judges.plain_text import root

PART_SHARE = 0.75
"""Share of content words from which a quote means all of a clause or sentence.

The rest is then hardly more than an adverb, or who says so; below it a statement that a source supports might go as well.
"""

_OPENERS = (
    r"(?:which|who|where|such as|including|especially|particularly|for (?:example|instance)|e\.g\.|as well as|because)"
)
_TRAILS = re.compile(
    rf",\s+(?={_OPENERS}\s|(?:making|giving|helping|allowing|leading|causing|creating|offering|adding|showing)\s"
    r"|and (?:this|it|they|you|we)\s|with\s(?:[\w'-]+\s){1,6}(?:being|becoming|ranging)\b|(?P<apposition>an?\s))"
    r"|(?<![\s,])\s+(?=(?:including|as well as|because)\s)"
)
"""Where a supplement begins that may run to the end of its sentence."""
_EMBEDDED = re.compile(rf",\s+(?={_OPENERS}\s)")
_PARENTHESIS = re.compile(r"(?<!\s)\s+\([^()]*\)")
_DASH = re.compile(r"(?<!\s)\s+[-–—]\s+|—")
_AND = re.compile(r",?(?<!\s)\s+(?:and|or)\s+")
_SUBJECTS = frozenset("i you he she it we they this there".split())
_LEAVE = frozenset("can may could might should allowed free entitled right".split())
_FRONTED = frozenset(
    """in on at for with by from to if when while although though because since as after before during until unless once whether
    like among despite unlike over under through without within instead where wherever whatever every given built made seen known
    due thanks according""".split()
)
"""First words of what may stand before a main clause: the comma behind it sets nothing off."""
_VERBS = frozenset(
    map(
        root,
        """affect agree allow appear arrange ask attract avoid become begin belong borrow bother bring build buy call calm
        cause change check choose collect come contain cover create decide depend describe design develop display ease eat
        enjoy explain explore express feature feel find follow form get give go happen hear help hold house improve include
        involve keep know last learn leave lend let lift link live look love lower make matter mean measure meet need occur
        offer open paint pay play protect provide range reach read receive reduce remain repair replace rest result return run
        save see sell seem serve share show sleep sound speak stand start stay store suffer support take talk teach tell tend
        train treat try turn use vary visit walk want wear welcome work write""".split(),
    )
) | frozenset(
    """is are was were be been has have had can could may might will would should does do did became began came felt found gave
    got held kept knew left lost made met sold spoke stood took went wrote you'll it's""".split()
)
"""Enough common verbs to see that a sentence has one, in the form that `root` gives, and as they stand."""
_END = re.compile(r"(?<![.!?…])(?:[.!?…]++|(?<![\"'”’)\]*_]))[\"'”’)\]*_]*+$")


class Edit(NamedTuple):
    """What stands in place of a stretch of text, and what of it is lost."""

    start: int
    end: int
    new: str
    lost: str


def clause_edit(sentence: str, start: int, end: int) -> Edit | None:
    """Return how to take a quote out of a sentence; None unless it is most of a part that is set off, and a sentence stays."""
    for edit in _candidate_edits(sentence, start, end):
        if (
            edit.start <= start
            and count_content_words(edit.lost)
            and count_content_words(sentence[start:end]) >= PART_SHARE * count_content_words(edit.lost)
        ):
            rest = sentence[: edit.start] + edit.new + sentence[edit.end :]
            if edit.lost.endswith(")") or (len(WORD.findall(rest)) > 2 and _has_verb(rest)):
                return edit
    return None


def _candidate_edits(sentence: str, start: int, end: int) -> Iterator[Edit]:
    """Yield the parts that might be taken out and end no sooner than the quote, the likeliest first."""
    for match in _PARENTHESIS.finditer(sentence):
        if match.start() <= start and end <= match.end():
            yield Edit(*match.span(), "", match[0])
    close = _END.search(sentence)
    stop = close.start() if close else len(sentence)
    if end <= stop and sentence.count("(", 0, start) == sentence.count(")", 0, start):
        yield from _supplements(sentence, start, end, stop)


def _supplements(sentence: str, start: int, end: int, stop: int) -> Iterator[Edit]:
    """Yield what is set off by dashes, or by a comma and a word that opens a supplement."""
    dashes = [*_DASH.finditer(sentence)]
    heads = [match for match in _TRAILS.finditer(sentence, 0, stop) if match.start() <= start]
    if len(dashes) == 1:
        heads += [dash for dash in dashes if dash.start() <= start]
    elif len(dashes) == 2 and dashes[0].start() <= start and end <= dashes[1].start():
        yield Edit(dashes[0].start(), dashes[1].end(), " ", sentence[dashes[0].start() : dashes[1].end()])
    for head in heads[::-1]:
        before, lost = sentence[: head.start()], sentence[head.start() : stop]
        if "because" in words(lost)[:1] and not _LEAVE.isdisjoint(words(before)):
            continue  # the reason may be a condition
        comma = sentence.find(",", end, stop)
        if comma > 0 and "," not in before and _EMBEDDED.match(sentence, head.start()):
            follows = [*words(sentence[comma:]), ""]
            whole_clause = follows[0] == "and" and follows[1] in _SUBJECTS
            if not _is_fronted(before) and (follows[0] in {"and", "or"} | _FRONTED or _has_verb(follows[0])):
                yield Edit(head.start(), comma + (not whole_clause), "", sentence[head.start() : comma])
        elif head[0].strip() and (_is_fronted(before) or (words(lost)[0] == "and" and "," in before)):
            continue  # what follows may be the main clause, or the last of several
        elif head.re is _TRAILS and head["apposition"] and not _is_apposition(lost):
            continue
        elif len(dashes) < 2 and (head[0].strip() or not has_limit(before)):  # "not because" negates what follows
            yield Edit(head.start(), stop, "", lost)


def _is_fronted(text: str) -> bool:
    """Tell whether a sentence may begin with something else than its main clause."""
    first = words(text)[0]
    return first in _FRONTED or (len(first) > 5 and first.endswith(("ing", "ed")))


def _is_apposition(text: str) -> bool:
    """Tell whether ", a ..." only explains a noun: it is no item of an enumeration, and has no verb but in a relative clause."""
    return not (_AND.search(text) or "," in text[1:] or _has_verb(re.split(r"\b(?:that|who|which|where)\b", text)[0]))


def _has_verb(text: str) -> bool:
    return any(not _VERBS.isdisjoint((word, word.removesuffix("s"), root(word))) for word in words(text))

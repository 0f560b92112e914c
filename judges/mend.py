"""Pure: takes small additions out of a reply, or adds the statement that they lack. What is doubtful is left to the refiner."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judges.advice import touches_topic
from judges.case import Case
from judges.imperatives import content, plain, root
from judges.observation import Problem
from judges.phrases import admits, asserts_nothing, verifies
from judges.sentences import Sentence, sentences

MOST_PROBLEMS = 2
MOST_CHARS = 20_000
WHOLE = 0.9
"""Share of a sentence's content words that a quote covers when it means all of it."""
MOSTLY = 0.75
"""Share from which a sentence or clause goes as a whole: beside the quote it then holds hardly more than "Many people find that"."""

_NUMBERS = frozenset(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million millions billion
    dozen dozens couple pair half halves third thirds quarter quarters once twice thrice double triple first second fourth fifth
    sixth seventh eighth ninth tenth percent both""".split()
)
_KEEP = frozenset(
    """no not nor never none nothing nobody nowhere neither cannot without hardly rarely seldom barely scarcely avoid refrain lack
    don dont cant wont isnt arent wasnt doesnt didnt shouldnt wouldnt couldnt mustnt isn aren wasn weren doesn didn shouldn
    wouldn couldn mustn needn hasn haven hadn ain aint
    if unless when whenever until till only provided providing otherwise depending depends case long whether except before after
    while but however although though despite yet whereas instead rather unlike else as_long
    must warning warn careful caution risk risks risky danger dangerous unsafe harmful emergency emergencies urgent urgently
    immediately ambulance hotline helpline crisis
    doctor doctors gp gps psychiatrist psychiatrists psychologist pharmacist pharmacists nurse nurses clinician prescriber
    therapist therapists counsellor counselor professional professionals specialist specialists lawyer lawyers solicitor
    solicitors adviser advisor advisers advisors team clinic hospital midwife dentist provider providers ombudsman council
    yes yeah sure absolutely certainly definitely""".split()
)
"""Negations, conditions, warnings, whom to ask, and answers: what holds one of them, or a number, is never deleted."""
_BACK = frozenset(
    """this that these those it its they their them he she his her such both so therefore thus hence also and but or nor yet then
    however moreover furthermore additionally besides another other others similarly likewise instead otherwise still again too
    even next finally here second third each either neither together afterwards meanwhile one ones doing because consequently
    accordingly overall plus""".split()
)
"""First words of a sentence that join it to the one before."""
_BACK_ANYWHERE = re.compile(
    r"^(?:in (?:addition|fact|particular|short|other words|that)|as (?:a result|well|such)|for (?:example|instance|that|this)"
    r"|on (?:the other|top of)|(?:some|most|many|all|none|any) of|the (?:other|same|latter|former|first|second|last)\b)"
    r"|\b(?:it|they|them|this|these|those|such|that's|it's|they're|latter|former|above|previous|mentioned)\b"
)
_IMPERSONAL = re.compile(
    r"\bit(?:'s| is| can be| may be) (?:also )?(?:important|best|possible|okay|ok|fine|wise|normal) "
    r"(?:that|to (?!the|an?\b|many|most|some|all|people|our|your|every))"
)
"""An "it" that refers to nothing."""
_DEFINITE = re.compile(r"\b(?:the|this|that|these|those|such|same) ((?:[a-z]+ ){0,2}[a-z]+)")
_ANNOUNCES = re.compile(
    r"[:?]\W*$|\b(?:here(?:'s| is| are)|the following|as follows|below|on the one hand|not only)\b"
    r"|\b(?:one|another|more|some|other|few) (?:\w+ )?(?:things?|tips?|ways?|reasons?|examples?|ideas?|points?|options?|facts?)\b"
)
_OPENERS = (
    r"(?:which|who|where|such as|including|especially|particularly|for (?:example|instance)|e\.g\.|as well as|because)"
)
_TRAILS = re.compile(
    rf",\s+(?={_OPENERS}\s|(?:making|giving|helping|allowing|leading|causing|creating|offering|adding|showing)\s"
    r"|with\s(?:[\w'-]+\s){1,6}(?:being|becoming|ranging)\b)|(?<![\s,])\s+(?=(?:including|as well as|because)\s)"
)
"""Where a supplement begins that may run to the end of its sentence."""
_EMBEDDED = re.compile(rf",\s+(?={_OPENERS}\s)")
_DASH = re.compile(r"(?<!\s)\s+[-–—]\s+|—")
_AND = re.compile(r",?(?<!\s)\s+(?:and|or)\s+")
_ITEM_ENDS = re.compile(r"(,?)\s+(?:and|or)\s+|,\s+")
_LISTS = re.compile(r"\b(?:include|includes|included|including|are|were|such as|like)\s+$|:\s+$")
_PAIRS = re.compile(
    r"\b(?:both|between|either|neither|whether|each|respectively|are|were|such as|these|following|together)\b"
)
_FRONTED = frozenset(
    """in on at for with by from to if when while although though because since as after before during until unless once whether
    like among despite unlike over under through without within instead""".split()
)
_VERBS = frozenset(
    map(
        root,
        """affect appear ask attract avoid become begin belong borrow bring build buy call cause change choose come contain cover
        describe develop display eat enjoy explain explore feature feel find follow form get give go happen hear help hold house
        improve include involve keep know learn leave let live look lower make mean meet need occur offer open paint pay play
        protect provide reach read receive reduce remain rest run see sell seem serve show sleep speak stand start stay store
        suffer support take talk tell tend treat try turn use visit walk want wear work write teach lift matter create design
        express train allow collect link share ease calm result range vary depend last sound bother arrange welcome receive save
        agree decide replace check repair fix return""".split(),
    )
) | frozenset(
    """is are was were be been has have had can could may might will would should does do did became began came felt found gave
    got held kept knew left lost made met sold spoke stood took went wrote you'll it's""".split()
)
"""Enough common verbs to see that a sentence has one, in the form that `root` gives, and as they stand."""
_SMALL = frozenset(
    """a an the and or of to in on at for with by from as is are was were be been being can may might could will would also it this
    that these those they you your their its which who such there about into often usually very more most so some many people find say think believe know""".split()
)
"""Words that are no content, and those that only report it."""
_ENGLISH = _SMALL | frozenset(
    "not if we our have has had when what how should help do does than then but them his her out up other i my me".split()
)
_FOREIGN = frozenset(
    """und der das nicht ist ein eine mit für sie ich den dem zu auf sind wird kann oder bei von el los las que una por para con
    del es su como más pero le les des est une dans pour et vous pas het een niet voor van zijn il che di per gli sono não uma os
    och att det som inte är jest nie się""".split()
)
_WORD = re.compile(r"[^\W\d_]+(?:['’ʼ][^\W\d_]+)*|\d+")
_END = re.compile(r"[.!?…]*[\"'”’)\]*_]*\s*$")
_CLOSED = re.compile(r"[.!?…][\"'”’)\]*_]*\s*$")
_INITIAL = re.compile(r"(?:^|\W)[A-Z]\.$")
_ITEM = re.compile(r"\s*(?:[-*•–+]|(?P<number>\(?\d{1,3}[.)]|\(?[a-z]\)))\s+")
_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)", re.M)
_QUOTES = str.maketrans("’‘ʼ´`“”„«»–—‑", "'''''\"\"\"\"\"---", "*\u00ad\u200b\u200c\u200d\u2060\ufeff")


@dataclass(frozen=True, slots=True)
class Statements:
    """What a reply says about its additions, in one language."""

    not_from_sources: str
    verify: str


class _Edit(NamedTuple):
    """What stands in place of a stretch of text, and the part of it that is lost."""

    start: int
    end: int
    new: str
    lost: str


def mend(case: Case, problems: Sequence[Problem], statements: Statements | None, sent_chars: int = 0) -> str | None:
    """Return the reply without its small additions, or with the statement that they lacked; None: it cannot be mended so.

    Args:
        case: The reply, and the topics on which nothing is mended.
        problems: All that is wrong with the reply.
        statements: What to add where an addition is only undisclosed; without them it is deleted.
        sent_chars: Characters at the beginning of the reply that the user has seen already.
    """
    text = case.draft
    if not 1 <= len(problems) <= MOST_PROBLEMS or len(text) > MOST_CHARS or text.lstrip()[:1] in ("{", "["):
        return None
    if any(p.kind not in ("beyond", "undisclosed") or p.severity > 2 for p in problems):
        return None
    spans = [_locate(p.quote, text) for p in problems]
    spots = [span for span in spans if span is not None and not _out_of_reach(text, *span, case)]
    if len(spots) < len(problems):
        return None
    doomed = [span for span, p in zip(spots, problems, strict=True) if p.kind == "beyond" or statements is None]
    for start, end in _merged(doomed):
        span = _locate(case.draft[start:end], text)  # the cut before may have moved it: "a, b and c" became "a and b"
        cut = span and _without(text, *span, sent_chars)
        if not cut:
            return None
        text = cut
    if doomed and not any(map(_says_something, sentences(text))):
        return None
    silent = [p.quote for p in problems if p.kind == "undisclosed" and _locate(p.quote, text)]
    return _with_statements(text, statements, sent_chars) if statements and silent else text


def _locate(quote: str, text: str) -> tuple[int, int] | None:
    """Return where a quote stands in a text, whatever its white space, case, quotes and emphasis; None unless exactly once."""
    folded: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for one in character.translate(_QUOTES).casefold():
            if not one.isspace() or (folded and folded[-1] != " "):
                folded.append(" " if one.isspace() else one)
                places.append(place)
    whole = "".join(folded)
    part = " ".join(quote.translate(_QUOTES).casefold().split()).strip(" .,;:!?'\"…-")
    at = whole.find(part)
    if not part or at < 0 or whole.find(part, at + 1) >= 0:
        return None
    edges = whole[at - 1 : at + 1] if at else "", whole[at + len(part) - 1 : at + len(part) + 1]
    if any(len(edge) == 2 and edge.isalnum() for edge in edges):
        return None  # it cuts a word
    return places[at], places[at + len(part) - 1] + 1


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans from the last to the first, those that overlap as one: what is cut later leaves the places before it valid."""
    if len(spans) == 2 and max(spans)[0] < min(spans)[1]:
        return [(min(spans)[0], max(end for _, end in spans))]
    return sorted(spans, reverse=True)


def _out_of_reach(text: str, start: int, end: int, case: Case) -> bool:
    """Tell whether a quote stands in a code block, or its sentence touches a sensitive topic, by a pronoun or a heading too."""
    if len(_FENCE.findall(text, 0, start)) % 2:
        return True
    before = ""
    for one in sentences(text):
        stop = one.start + len(one.text)
        if stop > start and one.start < end and touches_topic(f"{before} {one.text}", case.topics):
            return True
        if not (before.endswith(":") and _ITEM.match(text, _line(text, one.start)[0])):
            before = one.text
    return False


def _without(text: str, start: int, end: int, sent_chars: int) -> str | None:
    """Return a text without what a quote says; None where it cannot be taken out cleanly."""
    found = [*sentences(text)]
    hit = [n for n, one in enumerate(found) if one.start < end and one.start + len(one.text) > start]
    if not 1 <= len(hit) <= 2 or not _english(text):
        return None
    for n in reversed(hit):
        one = found[n]
        inside = max(start - one.start, 0), min(end - one.start, len(one.text))
        edit = _edit(text, found, n, *inside)
        if edit is None or _must_stay(edit.lost) or not _balanced(edit.lost):
            return None
        begin = edit.start
        if begin < sent_chars and text[begin:sent_chars].isspace():
            begin = min(sent_chars, edit.end)
        following = found[n + 1] if n + 1 < len(found) else None
        if begin < sent_chars or _dangles(text, edit, following, whole=edit.lost == one.text):
            return None
        text = text[:begin] + edit.new + text[edit.end :]
        found = [*sentences(text)]
    return text


def _edit(text: str, found: list[Sentence], n: int, start: int, end: int) -> _Edit | None:
    """Return how to take a part of a sentence out: the sentence, or a clause of it."""
    one = found[n].text
    first, last = _line(text, found[n].start)
    line = text[first:last]
    if line.lstrip()[:1] in ("#", ">", "|", "<") or "](" in one or "http" in one or _foreign(one):
        return None
    if not _balanced(text[first + (m.end() if (m := _ITEM.match(line)) else 0) : found[n].start]):
        return None
    share = _weight(one[start:end]) / max(_weight(one), 1)
    if share < WHOLE and (edit := _clause(one, start, end)):
        at = found[n].start
        return edit._replace(start=at + edit.start, end=at + edit.end)
    return _whole(text, found, n) if share >= MOSTLY else None


# Whole sentences


def _whole(text: str, found: list[Sentence], n: int) -> _Edit | None:
    """Return how to delete a sentence, with its line where it is all that stands there."""
    one = found[n]
    stop = one.start + len(one.text)
    first, last = _line(text, one.start)
    item = _ITEM.match(text[first:last])
    before = found[n - 1] if n and found[n - 1].start >= first else None
    after = found[n + 1] if n + 1 < len(found) and found[n + 1].start < last else None
    if (
        one.text.endswith(":")
        or _INITIAL.search(one.text)
        or any(map(_opens_oddly, (one, after) if before else (after,)))
    ):
        return None
    if before and (not _CLOSED.search(before.text) or _INITIAL.search(before.text)):
        return None
    if not item and (not _CLOSED.search(one.text) or (n and _ANNOUNCES.search(plain(found[n - 1].text)))):
        return None
    if after:
        return None if item and not before else _Edit(one.start, after.start, "", one.text)
    if before:
        return _Edit(before.start + len(before.text), stop, "", one.text) if _leads_nowhere(text, last, item) else None
    return _line_edit(text, first, last, item, one.text)


def _line_edit(text: str, first: int, last: int, item: re.Match[str] | None, lost: str) -> _Edit | None:
    """Return how to delete a line, and the empty ones that it would leave double."""
    above, below = text[:first].rstrip(), text[last:].lstrip()
    if item:
        if not _may_leave_list(text, first, last, item):
            return None
    elif not _leads_nowhere(text, last, None) or (above and not _CLOSED.search(above)):
        return None
    if not below:
        return _Edit(len(above), first + len(text[first:last].rstrip()), "", lost)
    apart = not above or text[len(above) : first].count("\n") > 1
    return _Edit(first, len(text) - len(below) - _indent(text, below) if apart else min(last + 1, len(text)), "", lost)


def _may_leave_list(text: str, first: int, last: int, item: re.Match[str]) -> bool:
    """Tell whether a list does without an item: two stay, their numbers and its heading still right."""
    indent = len(item[0]) - len(item[0].lstrip())
    siblings = {True: 0, False: 0}
    heading = edge = ""
    for below, lines in ((False, reversed(text[:first].splitlines())), (True, iter(text[last:].splitlines()))):
        for number, line in enumerate(filter(str.strip, lines)):
            other = _ITEM.match(line)
            depth = len(line) - len(line.lstrip())
            if below and number == 0 and depth > indent:
                return False
            if depth < indent or (other is None and depth == indent):
                heading = heading if below else line
                if (
                    below
                    and number == 0
                    and other is None
                    and text[last:].lstrip("\r\n\t ")
                    and text[last + 1 : last + 2].strip()
                ):
                    return False  # the item goes on in the next line
                break
            if depth == indent:
                siblings[below] += 1
            edge = edge or ("" if below else line.rstrip())
    joined = re.search(r"(?:[,;]|\b(?:and|or))$", edge) is not None
    if (item["number"] and siblings[True]) or (joined and not siblings[True]) or _has_number(heading):
        return False
    return sum(siblings.values()) >= 2


def _leads_nowhere(text: str, last: int, item: re.Match[str] | None) -> bool:
    """Tell whether no list or continuation follows the end of a line."""
    following = next(filter(str.strip, text[last:].splitlines()), "")
    close = text[last : last + 2].strip() or text[last : last + 3].strip()
    if item:
        return not (following and _indent(text, following) > 0) and (not close or _ITEM.match(following) is not None)
    return _ITEM.match(following) is None


def _opens_oddly(one: Sentence | None) -> bool:
    """Tell whether a sentence may be no sentence of its own: small letter, or an emoji that belongs to the one before."""
    return one is not None and (one.text[0].islower() or unicodedata.category(one.text[0])[0] == "S")


# Clauses


def _clause(one: str, start: int, end: int) -> _Edit | None:
    """Return how to take a part out of a sentence; None unless it is set off, and leaves a sentence."""
    for edit in _clauses(one, start, end):
        if edit.start <= start and _weight(one[start:end]) >= MOSTLY * _weight(edit.lost):
            rest = one[: edit.start] + edit.new + one[edit.end :]
            if edit.lost.lstrip().startswith("(") or (len(_WORD.findall(rest)) > 2 and _has_verb(rest)):
                return edit
    return None


def _clauses(one: str, start: int, end: int) -> Iterator[_Edit]:
    """Yield the parts of a sentence that might be taken out and contain the quote, the shortest first."""
    close = _END.search(one)
    stop = close.start() if close else len(one)
    for match in re.finditer(r"(?<!\s)\s+\([^()]*\)", one):
        if match.start() <= start and end <= match.end():
            yield _Edit(*match.span(), "", match[0])
    if end > stop or not _balanced(one[:start]):
        return
    yield from _items(one, start, end, stop)
    heads = [match for match in _TRAILS.finditer(one, 0, stop) if match.start() <= start]
    dashes = [*_DASH.finditer(one)]
    if len(dashes) == 1:
        heads += [dash for dash in dashes if dash.start() <= start]
    elif len(dashes) == 2 and dashes[0].start() <= start and end <= dashes[1].start():
        yield _Edit(dashes[0].start(), dashes[1].end(), " ", one[dashes[0].start() : dashes[1].end()])
    for match in heads[::-1]:
        comma = one.find(",", end)
        if comma > 0 and _EMBEDDED.match(one, match.start()) and "," not in one[: match.start()]:
            follows = _words(one[comma:])[:1]
            if _words(one)[0] not in _FRONTED and not {"and", "or", "but", "which"}.intersection(follows):
                yield _Edit(match.start(), comma + 1, "", one[match.start() : comma + 1])
        if len(dashes) < 2 and not (match[0].strip() == "" and _must_stay(one[: match.start()])):
            yield _Edit(match.start(), stop, "", one[match.start() : stop])


def _items(one: str, start: int, end: int, stop: int) -> Iterator[_Edit]:
    """Yield how to take out one of several things that are joined by commas and "and"."""
    if lead := re.match(r"(?:and|or)\s+", one[start:end]):
        start += lead.end()
    head, tail = one[:start], one[end:]
    if _must_stay(head) or _has_number(tail):
        return
    joint = next((m for m in _AND.finditer(head) if m.end() == start), None)
    if joint and end == stop:
        parts = head[: joint.start()].split(",")
        lost = one[joint.start() : end]
        if len(parts) == 1 or _words(parts[0])[0] in _FRONTED:
            if len(parts) < 3 and not _PAIRS.search(head):
                yield _Edit(joint.start(), end, "", lost)
        elif _listed(parts):
            comma = head.rfind(",", 0, joint.start())
            word = joint[0].strip(" ,\n")
            kept = "," if joint[0].startswith(",") and len(parts) > 2 else ""
            yield _Edit(comma, end, f"{kept} {word}{head[comma + 1 : joint.start()]}", lost)
        return
    following = _ITEM_ENDS.match(tail)
    if following is None or _PAIRS.search(tail):
        return
    if head.endswith(", ") and _listed(head[:-2].split(",")):
        oxford = following[1] and head.count(",") == 1
        yield _Edit(start - 2, end + bool(oxford), "", one[start - 2 : end])
    elif _LISTS.search(head) and following[0].strip() == "," and _AND.search(tail):
        yield _Edit(start, end + following.end(), "", one[start : end + following.end()])


def _listed(parts: Sequence[str]) -> bool:
    """Tell whether parts between commas are an enumeration: its beginning has a verb, its other items are short and have none."""
    first, *others = parts
    if _words(first)[0] in _FRONTED or not (_has_verb(first) or ":" in first):
        return False
    return all(0 < len(_words(p)) <= 4 and not _has_verb(p) and not _words(p)[0].endswith("ly") for p in others)


# What may not go, and what may not stay behind


def _must_stay(text: str) -> bool:
    """Tell whether a text holds what is never deleted."""
    words = _words(text)
    return (
        _has_number(text)
        or not _KEEP.isdisjoint(words)
        or any(word.endswith("n't") for word in words)
        or verifies(plain(text)) != "no"
        or admits(plain(text)) == "clear"
    )


def _has_number(text: str) -> bool:
    return any(c.isnumeric() or c in "%‰$€£" for c in text) or not _NUMBERS.isdisjoint(_words(text))


def _dangles(text: str, edit: _Edit, following: Sentence | None, *, whole: bool) -> bool:
    """Tell whether what follows would refer to what is deleted."""
    new = content(plain(edit.lost)) - content(plain(text[: edit.start]))
    if any(new & content(match[1]) for match in _DEFINITE.finditer(plain(text[edit.end :]))):
        return True
    if following is None:
        return False
    opening = _IMPERSONAL.sub("", plain(following.text).strip(" \"'([-"))
    first = (_words(opening) or [""])[0].partition("'")[0]
    return first in _BACK or (whole and _BACK_ANYWHERE.search(opening) is not None)


def _says_something(one: Sentence) -> bool:
    return len(_WORD.findall(one.text)) > 2 and not one.text.endswith(":") and not asserts_nothing(plain(one.text))


def _balanced(text: str) -> bool:
    """Tell whether brackets, quotation marks and emphasis are closed in a text."""
    pairs = all(text.count(left) == text.count(right) for left, right in ("()", "[]", "“”"))
    return pairs and not any(text.count(mark) % 2 for mark in ("**", "*", '"', "`", "_"))


def _with_statements(text: str, statements: Statements, sent_chars: int) -> str | None:
    """Add the statements as a last paragraph, but not the one to verify where the reply asks to already."""
    if statements.not_from_sources in text or len(_FENCE.findall(text)) % 2:
        return None
    asks = statements.verify in text or any(verifies(plain(one.text)) == "clear" for one in sentences(text))
    said = statements.not_from_sources if asks else f"{statements.not_from_sources} {statements.verify}"
    body = text[: max(len(text.rstrip()), sent_chars)]
    line = "\r\n" if "\r\n" in text else "\n"
    return body + line * max(0, 2 - body[len(body.rstrip()) :].count("\n")) + said


# Words and lines


def _words(text: str) -> list[str]:
    return [word.replace("ʼ", "'") for word in _WORD.findall(plain(text))] or [""]


def _weight(text: str) -> int:
    return sum(word not in _SMALL for word in _words(text))


def _has_verb(text: str) -> bool:
    return any(word in _VERBS or root(word) in _VERBS for word in _words(text))


def _english(text: str) -> bool:
    words = _words(text)
    english = sum(word in _ENGLISH for word in words)
    return english >= 0.15 * len(words) and sum(word in _FOREIGN for word in words) <= 0.1 * english


def _foreign(text: str) -> bool:
    return sum(word in _FOREIGN for word in _words(text)) > 1


def _line(text: str, at: int) -> tuple[int, int]:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def _indent(text: str, rest: str) -> int:
    at = text.rfind(rest)
    return at - (text.rfind("\n", 0, at) + 1)

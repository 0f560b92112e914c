"""Whole sentences that answer the question that was asked, or correct what was said: "1, 3; exclude 4", "365", "undo"."""

import re
from collections.abc import Iterable
from dataclasses import replace

from assistants.hippocrates.amounts import MOST_DAYS, TIME, days
from assistants.hippocrates.slots import Choice, Event, FixedExit, ObservationExit, Origin, Rule, Term
from assistants.hippocrates.study import Study
from assistants.hippocrates.terms import Terms

_BEFORE = r"(?:(?:please|ok|okay|yes|well|actually|sorry|correction|wait|no,|thanks|i want|i choose|can you|could you)[\s,]+)*"
_AFTER = r"(?:(?<![\s,])[\s,]++)?(?:please|thanks|thank you)?"
_COURTESY = re.compile(rf"^{_BEFORE}|{_AFTER}$", re.I)
_NUMBERS = r"\d{1,2}(?:\s?-\s?\d{1,2})?(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)\d{1,2}(?:\s?-\s?\d{1,2})?)*"
_CHOICE = re.compile(
    rf"(?:(?:choose|select|take|use)\s+)?(?P<what>{_NUMBERS}|all|the first|none)"
    rf"(?P<how>(?:[\s,;]+(?:(?:and|but)\s+)?(?:exclude\s+{_NUMBERS}|without descendants|including mapped))*)",
    re.I,
)
_UNDO = re.compile(rf"{_BEFORE}undo(?: that)?{_AFTER}[ .!]*", re.I)
_RESET = re.compile(r"start over|reset|new cohort", re.I)
_SEARCH = re.compile(r"(?:search for|i meant) (?P<what>.+)", re.I)
_REPLACE = re.compile(
    r"(?!.*\n)(?:replace (?P<old>.+?) with (?P<new>.+)|(?:use )?(?P<new2>.+?) instead of (?P<old2>.+)|"
    r"change (?P<old3>.+?) to (?P<new3>.+))",
    re.I,
)
_ADD = re.compile(r"add (?P<what>.+?) as an entry event", re.I)
_DROP = r"(?:remove|drop|delete|forget) "
_DROP_ALL = re.compile(
    _DROP
    + r"(?:(?P<all>all rules)|(?P<exclusions>all exclusions)|rule (?P<n>\d+)|(?P<censoring>the censoring(?: rule)?))",
    re.I,
)
_DROP_ONE = re.compile(
    _DROP
    + r"(?:the )?(?:(?P<part>rule|exclusion|inclusion|entry event|censoring) )?(?:(?:of|on|for|about) )?(?P<what>.+)",
    re.I,
)
_NO_RULES = re.compile(r"no rules|no more rules|nothing else", re.I)
_NO = re.compile(r"no|none", re.I)
_ENOUGH = re.compile(r"that is all|that's all|done", re.I)
_SKIP = re.compile(r"skip|default", re.I)
_PRIOR = re.compile(rf"(?P<n>\d+)|(?P<t>{TIME})|(?P<none>none)", re.I)
_LEAVE = re.compile(rf"(?:after )?(?P<t>{TIME})|(?P<end>(?:at )?the end of observation)", re.I)


def is_undo(words: str) -> bool:
    """Tell whether a sentence takes back the last message."""
    return _UNDO.fullmatch(words) is not None


def read(study: Study, origin: Origin, terms: Terms) -> Study | None:
    """Return the study with what a sentence answers or corrects; None if it does neither."""
    words = _COURTESY.sub("", origin.words.strip(" .!"))
    if _RESET.fullmatch(words):
        return Study()
    readers = (_answer, _drop, _replace, _add)
    return next((after for read in readers if (after := read(study, words, origin, terms)) is not None), None)


def _answer(study: Study, words: str, origin: Origin, terms: Terms) -> Study | None:
    if _NO_RULES.fullmatch(words):
        return study.skip("rules")
    question = study.question
    if question in ("prior_days", "rules", "exit") and _SKIP.fullmatch(words):
        return study.skip(question)
    if (question == "rules" and _NO.fullmatch(words)) or (question in ("rules", "exit") and _ENOUGH.fullmatch(words)):
        return study.skip(question)
    match question:
        case "entry" if term := terms.look_up(words):
            return replace(study, entry=(Event((term,), origin),))
        case "concept" if study.open_term:
            return _choose(study, study.open_term, words, terms)
        case "prior_days" if match := _PRIOR.fullmatch(words):
            value = 0 if match["none"] else int(match["n"]) if match["n"] else days(match["t"])
            return study.fill("prior_days", value, origin) if value <= MOST_DAYS else None
        case "exit" if match := _LEAVE.fullmatch(words):
            return study.fill("exit", ObservationExit() if match["end"] else FixedExit(days(match["t"])), origin)
    return None


def _choose(study: Study, term: Term, words: str, terms: Terms) -> Study | None:
    if search := _SEARCH.fullmatch(words):
        new = terms.search(search["what"])
        return study.replace_term(term, new) if new else None
    if match := _CHOICE.fullmatch(words):
        if match["what"].casefold() == "none":
            return study.replace_term(term, None) if not match["how"] else None
        excluded = _numbers(match["how"] if "exclude" in match["how"].casefold() else "")
        places = {"all": range(1, len(term.candidates) + 1), "the first": [1]}.get(match["what"].casefold())
        picks = [n for n in (places or _numbers(match["what"])) if n not in excluded]
        if not picks or not all(1 <= n <= len(term.candidates) for n in (*picks, *excluded)):
            return None
        below = term.descendants and "without" not in match["how"].casefold()
        mapped = "mapped" in match["how"].casefold()
        choices = tuple(
            Choice(term.candidates[n - 1], below, excluded=n in excluded, mapped=mapped) for n in (*picks, *excluded)
        )
        return study.replace_term(term, replace(term, choices=choices, candidates=()))
    same = terms.look_up(words)
    by_name = [one for one in term.candidates if one.name.casefold() == words.casefold()]
    concepts = by_name or ([choice.concept for choice in same.choices] if same else [])
    if len(concepts) == 1 and (by_name or concepts[0] in term.candidates or same):
        choice = Choice(concepts[0], term.descendants)
        return study.replace_term(term, replace(term, choices=(choice,), candidates=()))
    return None


def _numbers(text: str) -> list[int]:
    numbers: dict[int, None] = {}
    for first, last in re.findall(r"(\d{1,2})(?:\s?-\s?(\d{1,2}))?", text):
        numbers |= dict.fromkeys(range(int(first), int(last or first) + 1))
    return [*numbers]


def _drop(study: Study, words: str, origin: Origin, terms: Terms) -> Study | None:
    if match := _DROP_ALL.fullmatch(words):
        if match["censoring"]:
            return study.remove(study.censoring)
        if match["n"]:
            n = int(match["n"])
            return study.remove([study.rules[n - 1]]) if 1 <= n <= len(study.rules) else None
        return study.remove([rule for rule in study.rules if match["all"] or rule.excludes])
    if (match := _DROP_ONE.fullmatch(words)) is None:
        return None
    parts = [part for part in _parts(study, (match["part"] or "").casefold()) if _has(part, match["what"], terms)]
    if len(parts) != 1:
        return None
    event = _event_of(parts[0])
    matching = [term for term in event.terms if _means(term, match["what"], terms)]
    return study.replace_term(matching[0], None) if len(event.terms) > len(matching) == 1 else study.remove(parts)


def _parts(study: Study, kind: str) -> list[Event | Rule]:
    by_kind: dict[str, Iterable[Event | Rule]] = {
        "entry event": study.entry,
        "rule": study.rules,
        "exclusion": [rule for rule in study.rules if rule.excludes],
        "inclusion": [rule for rule in study.rules if not rule.excludes],
        "censoring": study.censoring,
        "": (*study.entry, *study.rules, *study.censoring),
    }
    return [*by_kind[kind]]


def _event_of(part: Event | Rule) -> Event:
    return part.event if isinstance(part, Rule) else part


def _has(part: Event | Rule, words: str, terms: Terms) -> bool:
    event = _event_of(part)
    if event.death and words.casefold() == "death":
        return True
    return any(_means(term, words, terms) for term in event.terms)


def _means(term: Term, words: str, terms: Terms) -> bool:
    """Tell whether words of a correction are about a term: by its own words, or by the name of its concept."""
    by_name = terms.look_up(words)
    ids = {choice.concept.concept_id for choice in (by_name.choices if by_name else ())}
    same = term.words.casefold() == words.casefold().strip("\"'")
    return same or any(choice.concept.concept_id in ids for choice in term.choices)


def _replace(study: Study, words: str, origin: Origin, terms: Terms) -> Study | None:
    if (match := _REPLACE.fullmatch(words)) is None:
        return None
    old_words, new_words = (
        match["old"] or match["old2"] or match["old3"],
        match["new"] or match["new2"] or match["new3"],
    )
    old = list(dict.fromkeys(term for term in study.terms() if _means(term, old_words, terms)))
    new = terms.search(new_words) if len(old) == 1 and _IS_SHORT.fullmatch(new_words) else None
    return study.replace_term(old[0], new) if new else None


_IS_SHORT = re.compile(r'\S+(?: \S+){0,7}|"[^"]+"')


def _add(study: Study, words: str, origin: Origin, terms: Terms) -> Study | None:
    if (match := _ADD.fullmatch(words)) is None:
        return None
    term = terms.search(match["what"]) if _IS_SHORT.fullmatch(match["what"]) else None
    return replace(study, entry=(*study.entry, Event((term,), origin))) if term else None

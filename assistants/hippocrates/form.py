"""The form asks fixed questions, one at a time, and parses the answers by patterns (form.yaml). It is used without a model.

An answer must match a pattern completely, and name concepts as the vocabulary does. Other messages change nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assistants.hippocrates import study as slots
from assistants.hippocrates.names import COMPLETE
from assistants.hippocrates.places import is_listed, place
from assistants.hippocrates.query import Query
from assistants.hippocrates.render import ask_about
from assistants.hippocrates.study import Choice, State, Study, Term
from assistants.hippocrates.terms import MOST_CANDIDATES, choose, find_term
from assistants.hippocrates.understand import Name, Step, Understanding
from assistants.hippocrates.vocabulary import Vocabulary
from models.unique_keys import load_yaml

TEXTS = Path(__file__).parent / "form.yaml"
DEMOS = Path(__file__).parent / "demo" / "conversations.yaml"
"""A file with recorded conversations in which a language model read the messages: titles and transcripts."""
ANY_TIME = "any time"
RULES = ("include", "exclude", "age", "sex")
"""The questions of the form whose answers fill the rules of a study."""
Groups = Mapping[str, str]
"""The named groups of a pattern that matched an answer, with their texts."""


class _NotReadError(Exception):
    """A message is not an answer to the question. The arguments are a key of `notes` in form.yaml, and values for its fields."""


class Form:
    """Asks the questions of the form, and parses the answers. It keeps no state between messages."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        texts = load_yaml(TEXTS.read_text(encoding="utf-8"))
        self._vocabulary = vocabulary
        self._questions: dict[str, str] = texts["questions"]
        self._notes: dict[str, str] = texts["notes"]
        self._demos: dict[str, str] = load_yaml(DEMOS.read_text(encoding="utf-8"))
        self._answers: dict[str, dict[str, re.Pattern[str]]] = {
            question: {one["example"]: _compiled(one["pattern"], texts["parts"]) for one in answers}
            for question, answers in texts["answers"].items()
        }
        patterns = [pattern for answers in self._answers.values() for pattern in answers.values()]
        self._without_concept = [one for one in patterns if one.groupindex.keys().isdisjoint({"concept", "concepts"})]

    def question(self, state: State) -> str:
        """Return the next question with examples of answers. For a complete cohort, return how to confirm it."""
        if state.question == "concept":
            return ask_about(state.open_terms[0])
        return self._questions[asked_next(state) or "complete"]

    def read(self, step: Step, message: str) -> Step:
        """Return the step after a message. If the message is not an answer, the step's `note` gives the reason."""
        text = " ".join(message.split()).removesuffix(".").rstrip()
        state, asked = step.state, asked_next(step.state) or ANY_TIME
        try:
            if commands := self._matches(ANY_TIME, text):
                return self._command(state, commands[-1])
            readings = self._matches(asked, text)
            if not readings:
                raise _NotReadError("no_form")
            return _step(self._fill(state, asked, readings, text))
        except _NotReadError as problem:
            reason = self._notes[problem.args[0]].format(**dict(problem.args[1:]))
        except ValidationError:
            reason = self._notes["range"]
        return Step(state, note=self._notes["not_read"].format(problem=reason, examples=self._examples(asked)))

    def _examples(self, question: str) -> str:
        return ", ".join(f"“{one}”" for one in self._answers[question])

    def _matches(self, question: str, text: str) -> list[Groups]:
        """Return the named groups of each pattern that matches a message. If the pattern for "none" matches, return only it."""
        matches = [match for pattern in self._answers[question].values() if (match := pattern.fullmatch(text))]
        readings: list[Groups] = [
            {k: part for k, part in one.groupdict().items() if part is not None} for one in matches
        ]
        return [groups for groups in readings if "none" in groups] or readings

    def _command(self, state: State, groups: Groups) -> Step:
        match groups:
            case {"again": _}:
                return _step(State())
            case {"cohort": _}:
                return _step(state, query=Query(of_cohort=True))
            case {"concepts": words}:
                country = groups.get("country", "")
                unlisted = "" if is_listed(place(country)) else country
                concepts = self._searched(f"{words} in {unlisted}" if unlisted else words, unlisted)
                query = Query(concepts=tuple((one,) for one in concepts), countries=tuple({country} - {unlisted, ""}))
                return _step(state, query=query, names=[Name(words=one, english=one) for one in concepts])
            case {"demo": number}:
                shown = dict(enumerate(self._demos.items(), start=1)).get(int(number))
                if shown is None:
                    raise _NotReadError("numbers", ("most", len(self._demos)))
                return replace(_step(state), note="\n".join(shown))
        wish = groups.get("wish", "courtesy").casefold()
        return replace(_step(state, wishes=[wish]), note=self._help() if wish == "help" else "")

    def _help(self) -> str:
        lines = [f"- {name}: {self._examples(name)}." for name in self._answers if name != ANY_TIME]
        demos = "; ".join(f"“demo {n}”: {title}" for n, title in enumerate(self._demos, start=1))
        commands = self._notes["help"].format(commands=self._examples(ANY_TIME))
        return "\n".join([commands, *lines, self._notes["demos"] + demos])

    def _searched(self, words: str, unlisted: str) -> list[str]:
        """Split the words of a search at "and" into names of concepts. `unlisted`: an unknown place at the end of the words."""
        whole, parts = self._term(words), re.split(" and ", words, flags=re.IGNORECASE)
        unknown = [part for part in parts if self._term(part) is None]
        if whole and (whole.choices or unknown):
            return [words]
        if unknown:
            raise _NotReadError("place" if unlisted else "unknown", ("words", unknown[0]), ("place", unlisted))
        return parts

    def _fill(self, state: State, asked: str, readings: list[Groups], text: str) -> State:
        """Return the state after filling the slots of the study from an answer to the question `asked`."""
        study, groups, chosen = state.study, readings[0], dict(state.chosen)
        filled: dict[str, Any] = {}
        match asked, groups:
            case "concept", {"none": _}:  # drop the last rule, or the entry, whose concept has no match
                filled = {"rules": study.rules[:-1]} if study.rules else {"entry": (), "entries": None}
            case "concept", _:
                term = state.open_terms[0]
                chosen[term.words] = self._pick(term, groups)
            case _, {"none": _}:
                answers_rules = asked == RULES[-1] and not (study.rules or study.age)
                filled = {"left_open": (*study.left_open, asked, *["rules"] * answers_rules)}
            case _, {"concept": _}:
                groups, term = self._one_reading(readings)
                chosen.setdefault(term.words, term)
                event = slots.Event(concepts=(term.words,), first="first" in groups, words=text)
                rules = (*study.rules, _rule(event, asked == "exclude", groups))
                filled = {"entry": (event,), "entries": "first"} if asked == "entry" else {"rules": rules}
            case "observation", {"days": days}:
                filled = {"prior_days": int(days)}
            case "age", _:
                filled = {"age": slots.Age.model_validate({end: int(years) for end, years in groups.items()})}
            case "sex", {"sex": sex}:
                filled = {"sex": sex.casefold()}
            case _, {"days": days}:
                filled = {"exit": slots.FixedExit(days=int(days))}
            case _, {"treatment": _}:
                started = [one.concept for words in study.entry[0].concepts for one in chosen[words].choices]
                if all(concept.domain_id != "Drug" for concept in started):
                    raise _NotReadError("no_drug")
                filled = {"exit": slots.TreatmentExit(gap=int(groups.get("gap", 30)))}
            case _:
                filled = {"exit": slots.ObservationExit()}
        study = Study(**(dict(study) | filled))
        return State(study, {words: chosen[words] for words in study.concepts})

    def _one_reading(self, readings: list[Groups]) -> tuple[Groups, Term]:
        """Choose one of several readings of an answer: preferably one whose concept is an exact name in the vocabulary."""
        terms = [(groups, term) for groups in readings if (term := self._term(groups["concept"]))]
        if not terms:
            raise _NotReadError("unknown", ("words", readings[-1]["concept"]))
        return max(terms, key=lambda one: bool(one[1].choices))

    def _term(self, words: str) -> Term | None:
        """Look up words in the vocabulary. Return None if no concept has all the words, possibly misspelt, in its name.

        Raises:
            _NotReadError: The words are an answer to another question, and do not name a concept.
        """
        if any(pattern.fullmatch(words) for pattern in self._without_concept):
            raise _NotReadError("other_answer", ("words", words))
        term = find_term(self._vocabulary, words)
        matches = self._vocabulary.find(words, limit=MOST_CANDIDATES)
        complete = {match.concept for match in matches if match.score >= COMPLETE}
        candidates = tuple(one for one in term.candidates if one in complete)
        return term if term.choices else Term(words, candidates=candidates) if candidates else None

    def _pick(self, term: Term, groups: Groups) -> Term:
        offered = dict(enumerate(term.candidates, start=1))
        picked = [(int(n), name == "exclude") for name, listed in groups.items() for n in re.findall(r"\d+", listed)]
        if len(offered.keys() & {n for n, _ in picked}) < len(picked):
            raise _NotReadError("numbers", ("most", len(offered)))
        return choose(self._vocabulary, term, [Choice(offered[n], excluded=excluded) for n, excluded in picked])


def asked_next(state: State) -> str | None:
    """Return the key of the form's next question; None if the cohort is complete and can be confirmed."""
    study = state.study
    if state.question in ("entry", "concept", "observation"):
        return state.question
    answered = {*study.left_open} | {name for name in ("age", "sex") if getattr(study, name) is not None}
    return next((one for one in RULES if one not in answered), None if study.exit else "exit")


def _compiled(text: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    whole = re.sub("|".join(parts), lambda part: parts[part[0]], text)
    pattern = re.compile(whole, re.IGNORECASE)
    return pattern  # noqa: RET504  # tests/test_linear_patterns.py finds its uses by this name


def _step(state: State, **understood: Any) -> Step:
    fields: dict[str, Any] = {"names": [], "picks": [], "query": None, "wishes": [], "evidence": []} | understood
    return Step(
        state, understanding=Understanding(study=state.study, **fields, not_taken=[], not_expressible=[], unclear=[])
    )


def _rule(event: slots.Event, excludes: bool, groups: Groups) -> slots.Rule:
    window = slots.Window(end=-1) if excludes else slots.Window()
    if "before" in groups:
        window = slots.Window(start=-int(groups["before"]), end=-1)
    elif "after" in groups:
        window = slots.Window(start=0, end=int(groups["after"]))
    kind: dict[str, Any] = {"bound": "exactly", "count": 0} if excludes else {}
    return slots.Rule(criterion=slots.Criterion(event=event, window=window, **kind), words=event.words)

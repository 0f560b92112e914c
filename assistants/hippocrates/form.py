"""What stands in for a language model: a form that asks one thing after the other and reads a dozen forms of answer, form.yaml's.

A message must be one of them from end to end, and its concepts names of the vocabulary; any other changes nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rapidfuzz import fuzz, process

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
ANY_TIME = "any time"
RULES = ("include", "exclude", "age", "sex")
"""What the form asks where a study has one question of rules."""
MUCH_LIKE = 86
"""How alike (of 100) a message must be to a command to be told of it rather than of an answer."""
Groups = Mapping[str, str]
"""The named parts of an answer."""


@dataclass(frozen=True)
class FormStep(Step):
    """The state after a message."""

    history: tuple[State, ...] = ()
    """The states before, for `undo`."""


class _NotReadError(Exception):
    """Why a message is no answer: a key of the notes, and what is filled in there."""


class Form:
    """Reads answers. It keeps nothing of a conversation."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        texts = load_yaml(TEXTS.read_text(encoding="utf-8"))
        self._vocabulary = vocabulary
        self._questions: dict[str, str] = texts["questions"]
        self._notes: dict[str, str] = texts["notes"]
        self._answers: dict[str, dict[str, re.Pattern[str]]] = {
            question: {one["example"]: _compiled(one["pattern"], texts["parts"]) for one in answers}
            for question, answers in texts["answers"].items()
        }

    def question(self, state: State) -> str:
        """Return what to ask next, with examples of answers; "" when the cohort can be confirmed."""
        asked = asked_next(state)
        return (
            ask_about(state.open_term)
            if asked == "concept" and state.open_term
            else self._questions[asked]
            if asked
            else ""
        )

    def read(self, step: Step, message: str) -> FormStep:
        """Return the step after one more message; of one that is no answer the note says why, and nothing is understood."""
        text = message.strip().removesuffix(".").rstrip()
        state, asked = step.state, asked_next(step.state)
        history = step.history if isinstance(step, FormStep) else ()
        if step.before not in (state, *history[-1:]):  # another reader has changed the state
            history = (*history, step.before)
        try:
            if commands := self._matches(ANY_TIME, text):
                return self._do(state, history, commands[-1])
            readings = self._matches(asked, text) if asked else []
            if not readings:
                raise _NotReadError("no_form")
            return _step(self._fill(state, asked or "", readings, text), (*history, state))
        except _NotReadError as problem:
            reason = self._notes[problem.args[0]].format(**dict(problem.args[1:]))
        except ValidationError:
            reason = self._notes["range"]
        note = self._notes["not_read"].format(problem=reason, example=self._nearest(asked or ANY_TIME, text.casefold()))
        return FormStep(state, history[-1] if history else state, note=note, history=history)

    def _nearest(self, asked: str, text: str) -> str:
        """Return the example that a message is most like; a command only if it is much like one."""
        command = process.extractOne(text, self._answers[ANY_TIME].keys(), scorer=fuzz.WRatio, score_cutoff=MUCH_LIKE)
        answer = process.extractOne(text, self._answers[asked].keys(), scorer=fuzz.ratio)
        return str((command or answer)[0])

    def _matches(self, question: str, text: str) -> list[Groups]:
        """Return the named parts of a message by each answer that it may be; "none" is nothing else."""
        matches = [match for pattern in self._answers[question].values() if (match := pattern.fullmatch(text))]
        found: list[Groups] = [{k: part for k, part in one.groupdict().items() if part is not None} for one in matches]
        return [groups for groups in found if "none" in groups] or found

    def _do(self, state: State, history: tuple[State, ...], groups: Groups) -> FormStep:
        """Do what may be said at any time."""
        if "again" in groups:
            return _step(State(), (*history, state))
        if "undo" in groups:
            return _step(history[-1], history[:-1]) if history else _step(state, (), self._notes["nothing"])
        if "cohort" in groups:
            return _step(state, history, query=Query(of_cohort=True))
        if "concepts" in groups:
            country = groups.get("country", "")
            if country and not is_listed(place(country)):
                groups, country = {"concepts": f"{groups['concepts']} in {country}"}, ""
            words = self._searched(groups["concepts"])
            query = Query(concepts=tuple((one,) for one in words), countries=(country,) if country else ())
            return _step(state, history, query=query, names=[Name(words=one, english=one) for one in words])
        note, wish = "", groups.get("wish", "courtesy").casefold()
        if wish == "help":
            shown = {name: ", ".join(f"“{one}”" for one in answers) for name, answers in self._answers.items()}
            lines = [f"- {name}: {examples}." for name, examples in shown.items() if name != ANY_TIME]
            note = "\n".join([self._notes["help"].format_map(shown), *lines])
        return _step(state, history, note, wishes=[wish])

    def _searched(self, words: str) -> list[str]:
        """Return the concepts that a search names: one with "and" in its name, or several."""
        whole, parts = self._term(words), re.split(" and ", words, flags=re.IGNORECASE)
        unknown = [part for part in parts if self._term(part) is None]
        if whole and (whole.choices or unknown):
            return [words]
        if unknown:
            raise _NotReadError("unknown", ("words", unknown[0]))
        return parts

    def _fill(self, state: State, asked: str, readings: list[Groups], text: str) -> State:
        """Return the state with an answer in it."""
        study, groups, chosen = state.study, readings[0], dict(state.chosen)
        filled: dict[str, Any] = {}
        if asked == "concept" and (term := state.open_term):
            if "none" in groups:
                # The form asks about concepts at once: the words are the entry's, or the last rule's.
                filled = {"rules": study.rules[:-1]} if study.rules else {"entry": ()}
            else:
                chosen[term.words] = self._pick(term, groups)
        elif "none" in groups:
            # With the last of its questions, the form has answered the one of the study that they stand for.
            rest = ("rules",) if asked == RULES[-1] and not (study.rules or study.age) else ()
            filled = {"left_open": (*study.left_open, asked, *rest)}
        elif "concept" in groups:
            groups, term = self._one_reading(readings)
            chosen.setdefault(term.words, term)
            event = slots.Event(concepts=(term.words,), first="first" in groups, words=text)
            rule = (*study.rules, _rule(event, asked == "exclude", groups))
            filled = {"entry": (event,)} if asked == "entry" else {"rules": rule}
        elif asked == "observation":
            filled = {"prior_days": int(groups["days"])}
        elif asked == "age":
            filled = {"age": slots.Age.model_validate({end: int(years) for end, years in groups.items()})}
        elif asked == "sex":
            filled = {"sex": groups["sex"].casefold()}
        elif "days" in groups:
            filled = {"exit": slots.FixedExit(days=int(groups["days"]))}
        elif "treatment" in groups:
            started = [one.concept for words in study.entry[0].concepts for one in chosen[words].choices]
            if all(concept.domain_id != "Drug" for concept in started):
                raise _NotReadError("no_drug")
            filled = {"exit": slots.TreatmentExit(gap=int(groups.get("gap", 30)))}
        else:
            filled = {"exit": slots.ObservationExit()}
        study = Study(**(dict(study) | filled))
        return State(study, {words: chosen[words] for words in study.concepts})

    def _one_reading(self, readings: list[Groups]) -> tuple[Groups, Term]:
        """Return the reading whose concept is a name, else the one whose concept may be one."""
        found = [(groups, term) for groups in readings if (term := self._term(groups["concept"]))]
        found = [one for one in found if one[1].choices] or found
        if not found:
            raise _NotReadError("unknown", ("words", readings[-1]["concept"]))
        if len(found) > 1:
            raise _NotReadError("two_meanings")
        return found[0]

    def _term(self, words: str) -> Term | None:
        """Return the term of some words; None unless each of them stands in the name of a concept, misspelt or not."""
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
    """Return the question of the form that is open; None if the cohort can be confirmed."""
    study = state.study
    if state.question in ("entry", "concept", "observation"):
        return state.question
    answered = {*study.left_open} | {name for name in ("age", "sex") if getattr(study, name) is not None}
    return next((one for one in RULES if one not in answered), None if study.exit else "exit")


def _compiled(text: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    whole = re.sub("|".join(parts), lambda part: parts[part[0]], text)
    pattern = re.compile(whole, re.IGNORECASE)
    return pattern  # noqa: RET504  # tests/test_linear_patterns.py finds its uses by this name


def _step(state: State, history: tuple[State, ...], note: str = "", **understood: Any) -> FormStep:
    fields: dict[str, Any] = {"names": [], "picks": [], "query": None, "wishes": [], "evidence": []} | understood
    read = Understanding(study=state.study, **fields, not_taken=[], not_expressible=[], unclear=[])
    return FormStep(state, history[-1] if history else state, read, note=note, history=history)


def _rule(event: slots.Event, excludes: bool, groups: Groups) -> slots.Rule:
    window = slots.Window(end=-1) if excludes else slots.Window()
    if "before" in groups:
        window = slots.Window(start=-int(groups["before"]), end=-1)
    elif "after" in groups:
        window = slots.Window(start=0, end=int(groups["after"]))
    kind: dict[str, Any] = {"bound": "exactly", "count": 0} if excludes else {}
    return slots.Rule(criterion=slots.Criterion(event=event, window=window, **kind), words=event.words)

"""Slot filling without a model, on phrasings written from docs/hippocrates.md: `python -m bench.hippocrates.slots FILE...`.

A file is a list of conversations; `say` is one message or several. Concepts are named by their name in Eunomia, or by their id.
What is not expected must stay empty, and `expect: {}` is for what has to be asked back.

    - say: ["New users of celecoxib, 18 or older", "no GI bleeding in the year before entry"]
      expect:
        entry: [{concepts: [celecoxib], first: true}]    # also: death: true, era: true, alone: true (without descendants)
        age: [18, null]
        rules: [{concepts: [Gastrointestinal hemorrhage], count: exactly 0, days: [-365, -1]}]
        # events_per_person: all, prior_days: 365, post_days: 0, sex: female, censoring: [{death: true}], gap: 7,
        # exit: {days: 30} or {days: 30, after: end}, {drug: [celecoxib], gap: 30, offset: 0}, observation
"""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assistants.hippocrates.demo import eunomia_path
from assistants.hippocrates.grammar import Grammar
from assistants.hippocrates.slots import DrugEraExit, Event, Filled, FixedExit, Term
from assistants.hippocrates.study import Study, fold
from assistants.hippocrates.vocabulary import Vocabulary
from models.unique_keys import load_yaml

EXACT, WRONG = 0.95, 0.01
"""At least so many slots exact; at most so many wrong."""
Slots = dict[str, Any]


def slots_of(study: Study) -> Slots:
    """Return what is filled, each part of a list under a name of its own; what is still to be chosen counts as not filled."""
    slots: Slots = {}
    for event in study.entry:
        _put(slots, "entry", _event(event))
    for rule in study.rules:
        event = _event(rule.event)
        count = f"{rule.count.bound} {rule.count.n}"
        _put(slots, "rules", event and (*event, count, (rule.window.start, rule.window.end)))
    for event in study.censoring:
        _put(slots, "censoring", _event(event))
    for name in ("events_per_person", "prior_days", "post_days", "sex", "gap"):
        if filled := getattr(study, name):
            slots[name] = filled.value
    if study.age:
        slots["age"] = (study.age.value.least, study.age.value.most)
    if study.exit:
        slots["exit"] = _exit(study.exit)
    return slots


def _put(slots: Slots, kind: str, value: Any) -> None:
    if value is not None:
        slots[f"{kind} {value}"] = value


def _event(event: Event) -> tuple[Any, ...] | None:
    if any(term.is_open for term in event.terms):
        return None
    alone = any(not choice.descendants for term in event.terms for choice in term.choices)
    return _ids(event.terms), event.first, event.death, event.era, alone


def _ids(terms: tuple[Term, ...]) -> tuple[int, ...]:
    return tuple(sorted(choice.concept.concept_id for term in terms for choice in term.choices if not choice.excluded))


def _exit(leaving: Filled[Any]) -> Any:
    match leaving.value:
        case FixedExit(days, after):
            return ("fixed", days, after)
        case DrugEraExit(terms, gap, offset):
            return ("drug era", _ids(terms), gap, offset)
    return "observation"


def expected_slots(expect: Slots, vocabulary: Vocabulary) -> Slots:
    """Return what a file expects in the form of `slots_of`."""

    def ids(names: list[str | int]) -> tuple[int, ...]:
        return tuple(sorted(name if isinstance(name, int) else _named(name, vocabulary) for name in names))

    def event(part: Slots) -> tuple[Any, ...]:
        flags = (bool(part.get(flag)) for flag in ("first", "death", "era", "alone"))
        return (ids(part.get("concepts", [])), *flags)

    slots: Slots = {}
    for name, value in expect.items():
        match name:
            case "entry" | "censoring":
                for part in value:
                    _put(slots, name, event(part))
            case "rules":
                for part in value:
                    _put(slots, name, (*event(part), part.get("count", "at least 1"), tuple(part["days"])))
            case "age":
                slots[name] = tuple(value)
            case "exit" if isinstance(value, dict) and "days" in value:
                slots[name] = ("fixed", value["days"], value.get("after", "start"))
            case "exit" if isinstance(value, dict):
                slots[name] = ("drug era", ids(value["drug"]), value.get("gap", 30), value.get("offset", 0))
            case "events_per_person" | "prior_days" | "post_days" | "sex" | "gap" | "exit":
                slots[name] = value
            case _:
                raise ValueError(f"{name!r} is no slot")
    return slots


def _named(name: str, vocabulary: Vocabulary) -> int:
    exact = {
        match.concept.concept_id
        for match in vocabulary.lookup(name)
        if match.concept.name.casefold() == name.casefold()
    }
    if len(exact) != 1:
        raise ValueError(f"{name!r} is the name of {len(exact)} concepts; give the id")
    return exact.pop()


@dataclass
class Score:
    """How many slots were filled as they should be."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, say: list[str], wanted: Slots, slots: Slots, asked: bool) -> None:
        for name in wanted.keys() | slots.keys():
            if wanted.get(name) == slots.get(name):
                outcome = "exact"
            elif name not in slots:
                outcome = "asked back" if asked else "missed"
            else:
                outcome = "wrong"
            self.counts[outcome] += 1
            self.counts["wanted"] += name in wanted
            if outcome != "exact":
                self.faults.append(f"{outcome:10} {name}: {slots.get(name)!r} for {wanted.get(name)!r} in {say}")

    @property
    def exact(self) -> float:
        return self.counts["exact"] / max(self.counts["wanted"], 1)

    @property
    def wrong(self) -> float:
        filled = self.counts["exact"] + self.counts["wrong"]
        return self.counts["wrong"] / max(filled, 1)


def measure(conversations: list[dict[str, Any]], vocabulary: Vocabulary) -> Score:
    """Read every conversation, and hold the slots against what is expected."""
    grammar, score = Grammar(vocabulary), Score()
    for one in conversations:
        say = [one["say"]] if isinstance(one["say"], str) else one["say"]
        study = fold([{"role": "user", "content": text} for text in say], grammar.read)
        asked = bool(study.asks or study.open_term) or len(say) > 1
        score.add(say, expected_slots(one["expect"], vocabulary), slots_of(study), asked)
    return score


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--vocabulary", type=Path, default=None, help="a CDM or an Athena export (default: Eunomia)")
    arguments = parser.parse_args()
    conversations = [one for file in arguments.files for one in load_yaml(file.read_text(encoding="utf-8"))]
    score = measure(conversations, Vocabulary.open(arguments.vocabulary or eunomia_path()))
    print(*score.faults, sep="\n")
    counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(score.counts.items()))
    print(f"{len(conversations)} conversations; slots: {counts}")
    print(f"exact {score.exact:.3f} (at least {EXACT}), wrong {score.wrong:.3f} (at most {WRONG})")
    return 0 if score.exact >= EXACT and score.wrong <= WRONG else 1


if __name__ == "__main__":
    sys.exit(main())

"""Pure: what is known of a cohort so far, a line for each slot, so that what a message changed can be told."""

from assistants.hippocrates.slots import DrugEraExit, Event, FixedExit, ObservationExit, Term
from assistants.hippocrates.study import Study
from assistants.hippocrates.wording import age_words, day_words, rule_words


def lines(study: Study) -> list[str]:
    """Return what a study holds, slot by slot."""
    slot_lines = [f"Entry event: {_event(event)}." for event in study.entry]
    if study.events_per_person:
        every = study.events_per_person.value == "all"
        slot_lines.append(
            "Every event of a person is an entry." if every else "A person enters with the earliest event."
        )
    if study.prior_days:
        slot_lines.append(f"Observation before entry: at least {day_words(study.prior_days.value)}.")
    if study.post_days:
        slot_lines.append(f"Observation after entry: at least {day_words(study.post_days.value)}.")
    if study.age:
        slot_lines.append(f"{age_words(study.age.value)}.")
    if study.sex:
        slot_lines.append(f"The sex is {study.sex.value}.")
    for rule in study.rules:
        rule_text = rule_words(rule.count, _words(rule.event), rule.window)
        slot_lines.append(f"Rule: {rule_text}{_concepts(rule.event.terms)}.")
    if study.exit:
        slot_lines.append(_exit(study.exit.value))
    slot_lines += [f"A person's time also ends at: {_event(event)}." for event in study.censoring]
    if study.gap:
        slot_lines.append(f"Periods of a person that are {day_words(study.gap.value)} or less apart are joined.")
    defaults = {
        "prior_days": "Observation before entry: none required.",
        "rules": "No further rules.",
        "exit": "Persons leave when their observation ends.",
    }
    return slot_lines + [text for question, text in defaults.items() if question in study.skipped]


def changes(before: Study, after: Study) -> list[str]:
    """Return what a message added, and what it took away."""
    old, new = lines(before), lines(after)
    removed_lines = [f"No longer there: {line}" for line in old if line not in new]
    added_lines = [line for line in new if line not in old]
    return added_lines or removed_lines


def _event(event: Event) -> str:
    first = "the first " if event.first else ""
    return f"{first}{_words(event)}{_concepts(event.terms)}"


def _words(event: Event) -> str:
    words = " or ".join(dict.fromkeys(term.words for term in event.terms))
    if event.death:
        return f"death from {words}" if words else "death"
    return f"drug era of {words}" if event.era else words


def _concepts(terms: tuple[Term, ...]) -> str:
    named = [one for term in terms for one in _of_term(term)]
    return f" ({'; '.join(named)})" if named else ""


def _of_term(term: Term) -> list[str]:
    if term.is_open:
        return [f"concepts for “{term.words}” still to be chosen"]
    return [
        ("except " if choice.excluded else "")
        + f"{choice.concept.domain_id} {choice.concept.concept_id} {choice.concept.name}"
        + ("" if choice.descendants else ", without descendants")
        + (", with mapped concepts" if choice.mapped else "")
        for choice in term.choices
    ]


def _exit(leaving: FixedExit | DrugEraExit | ObservationExit) -> str:
    match leaving:
        case FixedExit(days, after):
            return f"Persons leave {day_words(days)} after the entry event {after}s."
        case DrugEraExit(terms, gap, offset):
            drugs = " or ".join(term.words for term in terms) or "the drugs of entry"
            later = f", plus {day_words(offset)}" if offset else ""
            return f"Persons leave when exposure to {drugs} ends{later}; gaps of up to {day_words(gap)} do not end it."
    return "Persons leave when their observation ends."

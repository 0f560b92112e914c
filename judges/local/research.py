"""The local emergency judge among researchers, who write of patients and records: "cohort: first suicide attempt, 18+".

A sentence that plainly is about records, and in which the writer says nothing of themselves, is not listened to. All others are, as
a whole and clause by clause, since a word such as "study" would else take back what stands beside it.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from judges.case import Case
from judges.local import emergency
from judges.observation import Crisis, Unreadable

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+|\.{2,}\s*")
_CLAUSE = re.compile(r"\s*[,:;]\s+|\s+(?:and|but|so)\s+(?=i\b|i'?m\b|my\b)", re.IGNORECASE)
_RECORDS = re.compile(
    r"\b(?:patients?|persons|populations?|cohorts?|concepts?|concept sets?|databases?|datasets?|catalogues?|records?|recorded|"
    r"codes?|coded|coding|codelists?|snomed|icd\w*|rxnorm|omop|atlas|phenotypes?|outcomes?|index(?: date)?|entry(?: events?)?|"
    r"lookback|washout|prior(?: observation)?|incident|incidence|prevalence|mortality|exclude|excluding|exclusion|inclusion|"
    r"censor\w*|descendants?|criteri\w+|rules?|new users?|users of|cases|counts?|subjects|individuals|registr\w+|ehr|claims data|"
    r"cdm|i meant|aged \d+|ages \d+|\d+ or older|\d+\+|(?:before|after) (?:entry|index)|within \d+ (?:days|weeks|months|years))\b",
    re.IGNORECASE,
)
"""Words of people who write about records."""
_DOES = (
    r"(?:build|find|study|look|know|see|count|define|include|exclude|add|remove|create|make|search|compare|identify|get|have|use|"
    r"restrict|drop|censor|send|analy[sz]e|estimate|examine|investigate|select|start|set|change|replace|do|"
    r"kill (?:the|that) (?:\w+ )?(?:rule|exclusion|query))"
)
_WORK = (
    r"(?:cohorts?|study|studies|definitions?|query|queries|rules?|data|questions?|analys[ei]s|patients|populations?|outcomes?|"
    r"thesis|protocol|paper|project|code ?lists?|concept sets?|index|entry)"
)
_SEEKS = r"(?:looking for|interested in|studying|searching|working on)"
_ASKS = re.compile(
    rf"\b(?:i|we)(?:'?d| would)? (?:just |only |also |really )?(?:need|want|like|wish|have|am going|plan|am trying) to {_DOES}\b|"
    r"\b(?:i|we)(?:'?d| would)? (?:just |only |also |really )?(?:need|want|like|meant?|guess|study)\b(?! (?:to|it)\b)|"
    rf"\b(?:i am|we are|i'?m) {_SEEKS}\b|"
    rf"\b(?:can|could|may|should|do|how (?:can|do)|where (?:can|do)) (?:i|we) (?:\w+ )?{_DOES}\b|"
    rf"\b(?:show|give|tell|find|get|let|help) (?:me|us)\b(?! (?:to )?(?:die|end|go))|\b(?:my|our) (?:\w+ )?{_WORK}\b",
    re.IGNORECASE,
)
"""How a researcher speaks of themselves and of their work."""
_OF_THEMSELVES = re.compile(r"\b(?:i|i'?m|i'?ve|i'?ll|i'?d|im|ive|me|my|myself|mine|we|us|our)\b", re.IGNORECASE)
_HELP = re.compile(r"\b(?:help|please come|call an ambulance|right now|tonight|goodbye)\b[!.]*", re.IGNORECASE)


def observe(case: Case) -> tuple[Crisis, float]:
    """Look for danger as `emergency.observe` does, in what the user says of themselves or of somebody beside them."""
    said = tuple(replace(one, text=own_words(one.text)) for one in case.history if one.speaker == "user")
    said = tuple(one for one in said if one.text)
    newest = own_words(case.user_message)
    if not newest:
        return Crisis(signs=[]), 0.0
    seen = [emergency.observe(replace(case, user_message=newest, history=said))]
    for clause in _clauses(newest):
        with suppress(Unreadable):  # the whole can be read
            seen.append(emergency.observe(replace(case, user_message=clause, history=())))
    return max(seen, key=lambda pair: (bool(pair[0].signs), pair[1]))


def own_words(text: str) -> str:
    """Return the sentences of a message that are not plainly about records."""
    return "\n".join(one for one in _SENTENCE.split(text) if one.strip() and not is_about_records(one))


def is_about_records(sentence: str) -> bool:
    """Tell whether a sentence is about records, and says nothing of who writes it."""
    left = _ASKS.sub(" ", sentence.replace("’", "'"))
    if _OF_THEMSELVES.search(left) or _HELP.search(left):
        return False
    return bool(_RECORDS.search(sentence)) or (left != sentence.replace("’", "'") and not left.strip(" .!?,"))


def _clauses(text: str) -> Iterator[str]:
    for sentence in text.split("\n"):
        parts = [part.strip() for part in _CLAUSE.split(sentence)]
        if len(parts) > 1:
            yield from (part for part in parts if _OF_THEMSELVES.search(part))

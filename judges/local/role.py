"""The local role judge: does the reply play a part that an information chatbot does not have?

Told by phrases in which somebody speaks in person or plans for the user, by part (role.txt), and by what no service says of
itself. Nothing here knows a subject. What a source says word for word is passed on, not played.
"""

import re
from functools import cache
from importlib.resources import files
from typing import Literal, cast, get_args

from judges import phrases
from judges.case import Case
from judges.local import language
from judges.observation import Played, RolePlay
from judges.quotes import fold_text
from judges.sentences import normalise, sentences

Part = Literal["therapist", "friend", "expert", "advocate", "persona", "other"]
assert get_args(Part) == get_args(Played.model_fields["part"].annotation)

_IN_PERSON = re.compile(
    r"(?<![\w'])(?P<before>[\w:]{1,99}+ )?i(?P<mood>'ve| have|'d| would|'ll| will| shall|'m| am)?(?>(?: (?:also|just|really|so|"
    r"very|always|never|still|therefore|gladly|simply|personally|honestly|truly))*)"
    r" (?P<verb>[\w']+)(?P<after>[^.?!]{0,12})"
)
_INVERTED = frozenset(
    """can do should may could must will would did if that what whether as when how where why who which than say say:
    something anything""".split()
)
"""What stands before an "I" that is not the speaker, or that says nothing: "should I", "the one that I"."""
_SERVES = frozenset(
    """
    can can't cannot couldn't am sorry don't do did didn't hope a an the glad happy understand won't wouldn't afraid here not
    have haven't hadn't should shouldn't only rather give help look looked add found find explain explained pass mentioned
    named listed quoted correct need unable able software words program mean meant quote cite checked searched apologise
    apologize appreciate thank repeat answer use draw rely offer share show list go keep stay leave made tell no nothing
    information access for to be as and or with from in on at by of but""".split()
)
"""What stands after "I" where a service speaks of itself: what it can and cannot do, has, and was given."""
_ADVISES = frozenset("tell give use go keep stay leave show".split())
"""What a service does but, after "I would", recommends: "I would tell him tomorrow"."""


def _speaks_in_person(lowered: str) -> bool:
    """Tell whether a sentence says of "I" what no service says of itself: it feels, remembers, decides, plans."""
    for match in _IN_PERSON.finditer(re.sub(r'"[^"]*"', '""', lowered)):
        if (match["before"] or "").strip() in _INVERTED or (match["before"] or "").endswith(": "):
            continue
        if (
            match["verb"] not in _SERVES
            or (match["verb"] == "be" and match["mood"] in ("'ll", " will", " shall"))
            or (
                match["verb"] in _ADVISES
                and match["mood"] in ("'d", " would")
                and not match["after"].startswith(" you")
            )
        ):
            return True
    return False


@cache
def _load_phrases() -> dict[Part, re.Pattern[str]]:
    """Read the phrases of each part; they are read once, when they are first needed."""
    names: dict[str, str] = {}
    patterns: dict[Part, list[str]] = {}
    for line in files("judges.local").joinpath("role.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            phrases_of_part = patterns[cast(Part, line.strip("[]"))] = []
        elif patterns and line:
            for name, pattern in names.items():
                line = line.replace(f"{{{name}}}", pattern)
            phrases_of_part.append(line)
        elif line and not line.startswith("#"):
            name, _, pattern = line.partition(" ")
            names[name] = pattern
    return {part: re.compile(rf"(?<!\w)(?:{'|'.join(lines)})(?!\w)") for part, lines in patterns.items()}


def observe(case: Case) -> tuple[RolePlay, float]:
    """Look for phrases of each part, sentence by sentence.

    Returns:
        The sentences that play a part, and how sure it is that one does, 0 to 1.

    Raises:
        Unreadable: The draft is not English.
    """
    language.check_readable(case.draft)
    played = []
    for sentence in sentences(case.draft):  # as it stands: its quotes are verbatim
        part = played_part(normalise(sentence.text).lower())
        if part is not None and not any(fold_text(sentence.text) in fold_text(source.text) for source in case.sources):
            played.append(Played(part=part, quote=sentence.text, degree="clear"))
    return RolePlay(played=played), 0.9 if played else 0.1


def played_part(lowered: str) -> Part | None:
    """Return the part that a sentence, in lower case, plainly plays, if any."""
    if phrases.refuses(lowered):
        return None
    for part, pattern in _load_phrases().items():
        for match in pattern.finditer(lowered):
            if _DENIAL.search(lowered[max(0, match.start() - 40) : match.start()]):
                continue
            if part != "expert" or " as " in f" {match[0]}" or phrases.verifies(lowered) == "no":
                return part
    return "other" if _speaks_in_person(lowered) and phrases.verifies(lowered) == "no" else None


_DENIAL = re.compile(r"(?:\b(?:not|never|no|cannot|if|whether|like|pretend)\b|n't\b)(?: \w+){0,4} ?$")
"""What turns a phrase that follows into none: "I am not your friend", "if I love you"."""

"""Pure: which parts of an English reply may be deleted, by their words. In doubt, none."""

import re

from judges.phrases import admits, verifies
from judges.plain_text import content, plain

_NUMBERS = frozenset(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million millions billion
    dozen dozens couple pair half halves third thirds quarter quarters once twice thrice double triple both first second fourth
    fifth sixth seventh eighth ninth tenth percent""".split()
)
_LIMITS = frozenset(
    """no not nor never none nothing nobody nowhere neither cannot without hardly rarely seldom barely scarcely avoid refrain lack
    don dont cant wont isnt arent wasnt doesnt didnt shouldnt wouldnt couldnt mustnt isn aren wasn weren doesn didn shouldn
    wouldn couldn mustn needn hasn haven hadn ain aint
    if unless when whenever until till only provided providing assuming otherwise depending depends whether except before after
    while but however although though despite yet whereas instead rather unlike else
    during within permission consent approval supervision""".split()
)
"""Negations and conditions."""
_NEEDED = frozenset(
    """must warning warn careful caution risk risks risky danger dangerous unsafe harmful emergency emergencies urgent urgently
    immediately ambulance hotline helpline crisis
    doctor doctors gp gps psychiatrist psychiatrists psychologist pharmacist pharmacists nurse nurses clinician prescriber
    therapist therapists counsellor counselor professional professionals specialist specialists lawyer lawyers solicitor
    solicitors adviser advisor advisers advisors team clinic hospital midwife dentist provider providers ombudsman council advocate
    advocates yes yeah sure absolutely certainly definitely""".split()
)
"""Warnings, whom to ask, and answers."""
_LIMITING = re.compile(
    r"\b(?:in case|in the event|(?:as|so) (?:long|soon|far) as|(?:should|were|had) you|subject to|apart from|other than|far from"
    r"|at (?:least|most)|up to|(?:more|less|fewer) than)\b"
)
_BACK = frozenset(
    """this that these those it its they their them he she his her such both so therefore thus hence also and but or nor yet then
    however moreover furthermore additionally besides another other others similarly likewise instead otherwise still again too
    even next finally here second third each either neither together afterwards meanwhile one ones doing because consequently
    accordingly overall plus""".split()
)
"""First words of a sentence that join it to the one before."""
_BACK_AT = re.compile(
    r"^(?:in (?:addition|fact|particular|short|other words|that)|as (?:a result|well|such)|for (?:example|instance|that|this)"
    r"|on (?:the other|top of)|(?:some|most|many|all|none|any) of|the (?:other|same|latter|former|first|second|last)\b)"
    r"|\b(?:it|they|them|this|these|those|such|that's|it's|they're|latter|former|above|previous|mentioned)\b"
    r"|\b(?:also|too|as well|another)\b"
)
_IMPERSONAL = re.compile(
    r"\bit(?:'s| is| can be| may be) (?:also )?(?:important|best|possible|okay|ok|fine|wise|normal) "
    r"(?:that|to (?!the|an?\b|many|most|some|all|people|our|your|every))"
)
"""An "it" that refers to nothing."""
_DEFINITE = re.compile(r"\b(?:the|this|that|these|those|such|same|no) ((?:[a-z]+ ){0,2}[a-z]+)")
_ANNOUNCES = re.compile(
    r"[:?]\W*$|\b(?:here(?:'s| is| are)|the following|as follows|(?:see|listed) below|on the one hand|not only)\b"
    r"|\b(?:one|another|more|some|other|few) (?:\w+ )?(?:things?|tips?|ways?|reasons?|examples?|ideas?|points?|options?|facts?)\b"
    r"|\b(?:two|three|four|five|six|seven|several|\d) (?:\w+ )?"
    r"(?:kinds|types|parts|signs|symptoms|ways|things|tips|reasons|steps|groups|phases|stages|forms|options|sorts|rights|rules)\b"
)
_SMALL = frozenset(
    """a an the and or of to in on at for with by from as is are was were be been being can may might could will would also it
    this that these those they you your their its which who such there about into often usually very more most so some many
    people find say think believe know generally mostly typically sometimes probably perhaps maybe possibly cases case""".split()
)
"""Words that are no content, those that only report it, and hedges."""
_ENGLISH = _SMALL | frozenset(
    "not if we our have has had when what how should help do does than then but them his her out up other i my me".split()
)
_FOREIGN = frozenset(
    """und der das nicht ist ein eine mit für sie ich den dem zu auf sind wird kann oder bei von el los las que una por para con
    del es su como más pero le les des est une dans pour et vous pas het een niet voor van zijn il che di per gli sono não uma os
    och att det som inte är jest nie się""".split()
)
WORD = re.compile(r"[^\W\d_]+(?:['’ʼ][^\W\d_]+)*|\d+")


def must_stay(text: str) -> bool:
    """Tell whether a text holds a number, negation, condition, warning, correction or referral, or admits something."""
    return (
        has_number(text)
        or _CORRECTS.search(plain(text)) is not None
        or has_limit(text)
        or not _NEEDED.isdisjoint(_stems(words(text)))
        or verifies(plain(text)) != "no"
        or admits(plain(text)) == "clear"
    )


_CORRECTS = re.compile(
    r"\b(?:myth|legend|false|wrong|mistaken?|mistakes|nonsense|untrue|outdated|disprove[dn]?|refute[ds]?|clear(?:ed|s)|error|contest|court"
    r"|delay|ruin|wors(?:e|en)|harm|damage|scientists?|research|experts?|studies|study|blogs?|claims?|regard(?:ed)?|hold|appeal|object)\w*\b"
)
"""Words of what takes something back, or says who says so: without it the opposite would stand there, or a bare claim."""
_REPORTS = re.compile(
    r"\b(?:people|some|many|most|others|books?|blogs?|they|it is|it's|one|folk) (?:\w+ )?"
    r"(?:says?|said|believed?|thought|think|claim(?:s|ed)?|blamed?|hold|held|assumed?|told)\b"
    r"|\b(?:used to|once) (?:say|think|believe|hold)"
)


def reports_belief(text: str) -> bool:
    """Tell whether a text says what somebody believes: what follows may put it right."""
    return _REPORTS.search(plain(text)) is not None


def has_number(text: str) -> bool:
    return any(c.isnumeric() or c in "%‰$€£" for c in text) or not _NUMBERS.isdisjoint(words(text))


def has_limit(text: str) -> bool:
    """Tell whether a text holds a negation or a condition."""
    tokens = words(text)
    return (
        not _LIMITS.isdisjoint(_stems(tokens))
        or any(word.endswith("n't") for word in tokens)
        or _LIMITING.search(plain(text)) is not None
    )


def _stems(tokens: list[str]) -> set[str]:
    """Return words without what an apostrophe joins to them: `nobody's`, `doctor's`."""
    return {word.partition("'")[0] for word in tokens}


def announces_more(sentence: str) -> bool:
    """Tell whether a sentence needs one that follows: it asks, says that something comes, or counts it."""
    return _ANNOUNCES.search(plain(sentence)) is not None


def refers_back(sentence: str, *, anywhere: bool) -> bool:
    """Tell whether a sentence would refer to a deleted one before it.

    Args:
        anywhere: Whether any pronoun may do so, not only how it begins.
    """
    opening = _IMPERSONAL.sub("", plain(sentence).strip(" \"'([-"))
    return words(opening)[0].partition("'")[0] in _BACK or (anywhere and _BACK_AT.search(opening) is not None)


def refers_to_deleted(deleted: str, before: str, after: str) -> bool:
    """Tell whether what follows speaks of "the app", or of Anna, when only what is deleted has introduced them."""
    names = {word for word in WORD.findall(deleted) if word[0].isupper() and len(word) > 1}
    if not (names - set(WORD.findall(before))).isdisjoint(WORD.findall(after)):
        return True
    new = content(plain(deleted)) - content(plain(before))
    return any(new & content(match[1]) for match in _DEFINITE.finditer(plain(after)))


def is_english(text: str) -> bool:
    """Tell whether a reply is in a language whose negations and conditions are known here."""
    tokens = words(text)
    english = sum(word in _ENGLISH for word in tokens)
    return english >= 0.15 * len(tokens) and sum(word in _FOREIGN for word in tokens) <= 0.1 * english


def has_foreign_words(sentence: str) -> bool:
    return sum(word in _FOREIGN for word in words(sentence)) > 1


def count_content_words(text: str) -> int:
    """Return how many words of a text have content."""
    return sum(word not in _SMALL for word in words(text))


def words(text: str) -> list[str]:
    """Return the words of a text, lower-case; one empty word where it has none."""
    return [word.replace("ʼ", "'") for word in WORD.findall(plain(text))] or [""]

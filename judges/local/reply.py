"""The local judges of a reply, and the local refiner. They compare the words of a reply with its sources.

README.md lists their accuracy.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache, lru_cache
from importlib.resources import files
from math import log
from typing import Literal, NamedTuple, cast, get_args

import yaml
from rapidfuzz.distance import LCSseq

from judges import phrases
from judges.case import Case
from judges.languages import MIN_WORDS, SNOWBALL, Unreadable, check_readable, language_of
from judges.numbers import NUMBER_WORDS, Values, spelled, unnamed_numbers, values_in
from judges.observation import Assertion, Claims, Played, RolePlay
from judges.quotes import MIN_QUOTE_CHARS, fold_text
from judges.text import Sentence, count_symbols, is_mostly_words, normalise, plain, sentences
from judges.topics import topic_of
from knowledge_base.bm25 import stems
from knowledge_base.library import Source

# Claims: one rule, without learned weights, decides whether the sources contain the assertions of a reply.
#
# A sentence is unsupported if the sources lack too much of its content, or one of its numbers or names. Content is the stems of
# the sentence, weighted by inverse document frequency over the sentences of the sources. A sentence is also unsupported if it
# nearly repeats a sentence of the sources with another number or the opposite polarity (negators.yaml). English phrases
# (judges/phrases.py) mark sentences that assert nothing. README.md lists the accuracy.

MAX_LACKING, PRIOR_WORDS = 0.35, 2
"""`MAX_LACKING`: minimum share (0 to 1) of missing content that makes a sentence unsupported. `PRIOR_WORDS`: number of rare words
that count as present in addition to the words of each sentence, because one unknown word in a short sentence means little."""
STATED, NEAREST = 0.8, 3
"""`STATED`: minimum share (0 to 1) of a sentence's content in a passage that states the sentence. `NEAREST`: number of nearest
passages whose polarity is compared with the sentence."""
MIN_COPIED, MAX_WORDS = 0.65, 400
"""`MIN_COPIED`: minimum share (0 to 1) of equal words, in order, in a near repetition. `MAX_WORDS`: maximum number of words of a
sentence that is compared."""
_NAME = re.compile(r"(?<=[a-z0-9,;:'\")] )[A-Z][a-zA-Z]+")
_AS_STATEMENT = re.compile(
    r"^\W*(?:can|could|may|should|shall|must|do|does|did|will|would|is it ok(?:ay)? to)(?: (?:i|we))?\b", re.I
)
"""Matches the beginning of a question, such as "can I". The rest of the question is a statement."""
_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?")


class JudgedSentence(NamedTuple):
    """A sentence of the reply with its support by the sources, as the local judges and the refiner use it."""

    sentence: Sentence
    assertion: Assertion | None = None
    """The assertion of the sentence and its support; None if the sentence asserts nothing."""
    lacking: float = 0.0
    """Share of the sentence's content that the sources lack, 0 to 1. A wrong number, name or polarity gives 1."""


def observe_claims(case: Case) -> tuple[Claims, float]:
    """List the claims of a reply and their support by the sources.

    Returns:
        The filled-in form, and the score for unsupported content, 0 to 1: the highest `JudgedSentence.lacking` of the reply.

    Raises:
        Unreadable: The reply is obfuscated, or is not in the language of its sources.
    """
    judged = read_reply(case)
    lowered = [one.sentence.text.lower() for one in judged]
    taken_back = any(map(phrases.takes_back, lowered))
    claims = Claims(
        assertions=[one.assertion for one in judged if one.assertion is not None],
        admits_not_from_sources="no" if taken_back else phrases.strongest_of(map(phrases.admits, lowered)),
        asks_to_verify="no" if taken_back else phrases.strongest_of(map(phrases.verifies, lowered)),
    )
    return claims, max([one.lacking for one in judged], default=0.0)


@lru_cache(maxsize=16)
def read_reply(case: Case) -> tuple[JudgedSentence, ...]:
    """Judge each sentence of a reply. The result is cached, because two judges and the refiner read the same case.

    Raises:
        Unreadable: The sentences that are not copied from the sources are obfuscated, or not in the language of the sources.
    """
    sources = _read_sources(_supporting(case), case.language)
    if not is_mostly_words(case.draft):
        raise Unreadable("{} of {} characters are symbols, expected words".format(*count_symbols(case.draft)))
    parts = [*sentences(normalise(case.draft))]
    own = " ".join(one.text for one in parts if one.text not in sources.trusted_sentences)
    check_readable(own if len(own.split()) >= MIN_WORDS or not own else case.draft, sources.language)
    asserting = [bool(sources.stems(one.text)) and not phrases.asserts_nothing(one.text.lower()) for one in parts]
    said = [one.text for one in parts]
    question = normalise(case.user_message)
    is_yes = phrases.answers_yes(said[0].lower()) if parts and not any(asserting) else None
    if is_yes is not None and question.rstrip().endswith("?"):  # a bare "yes" asserts the content of the question
        asserting[0], said[0] = True, ("" if is_yes else "not ") + _AS_STATEMENT.sub("", question, count=1)
    return tuple(
        _judge_sentence(one, text, case, sources) if asserts else JudgedSentence(one)
        for one, text, asserts in zip(parts, said, asserting, strict=True)
    )


def _supporting(case: Case) -> tuple[Source, ...]:
    """Return the sources that the words of a reply are compared with.

    On a sensitive topic, only cited sources count, without sources that only a search for the reply's own words found: "It
    cures schizophrenia" would find "No diet is known to cure schizophrenia".
    """
    if topic_of(plain(f"{case.draft}\n{case.user_message}"), case.topics) is None:
        return case.supporting
    return tuple(one for one in case.cited if one.id not in case.by_own_words)


class _Sources:
    """The sources of a reply, indexed by stem and by sentence. Titles and headings count as sentences."""

    def __init__(self, sources: tuple[Source, ...], usual_language: str) -> None:
        """Index the sources.

        Args:
            sources: The sources.
            usual_language: ISO 639-1 code of the language to assume for sources with few words.
        """
        texts = {source.id: normalise(f"{source.title}\n{source.text}") for source in sources}
        self.language = language_of("\n".join(texts.values()), usual_language)
        self.passages = [(source_id, one.text) for source_id, text in texts.items() for one in sentences(text)]
        trusted = {source.id for source in sources if source.trusted}
        self.trusted_sentences = frozenset(text for source_id, text in self.passages if source_id in trusted)
        self.values = [values_in(text) for _, text in self.passages]
        self.all_values = frozenset[Decimal]().union(*self.values)
        self.places = {text: number for number, (_, text) in reversed([*enumerate(self.passages)])}
        self.passages_with: defaultdict[str, list[int]] = defaultdict(list)
        for number, (_, text) in enumerate(self.passages):
            for stem in dict.fromkeys(self.stems(text)):
                self.passages_with[stem].append(number)

    def stems(self, text: str) -> list[str]:
        return stems(text, SNOWBALL[self.language])

    def weigh(self, text: str) -> dict[str, float]:
        """Return the weight of each stem of a text, without numbers.

        The weight is the inverse document frequency ln(1 + n / (m + 0.5)), where m of the n passages contain the stem.
        """
        counts = {stem: len(self.passages_with.get(stem, ())) for stem in self.stems(text) if not stem[0].isdigit()}
        return {stem: log(1 + len(self.passages) / (count + 0.5)) for stem, count in counts.items()}


_read_sources = lru_cache(maxsize=64)(_Sources)


def _judge_sentence(sentence: Sentence, text: str, case: Case, sources: _Sources) -> JudgedSentence:
    """Judge one sentence of a reply.

    Args:
        sentence: The sentence.
        text: The text to compare with the sources: the sentence, or the question to which the sentence says yes or no.
        case: The case with the reply.
        sources: The indexed sources.
    """
    weights = sources.weigh(text)
    shared: defaultdict[int, float] = defaultdict(float)
    for stem, weight in weights.items():
        for number in sources.passages_with.get(stem, ()):
            shared[number] += weight
    same = sources.places.get(text)
    nearest = [same] if same is not None else sorted(shared, key=lambda one: -shared[one])[:NEAREST]
    near = [sources.passages[number][1] for number in nearest]
    lacking = sum(weight for stem, weight in weights.items() if stem not in sources.passages_with)
    lacking /= sum(weights.values()) + PRIOR_WORDS * log(1 + 2 * len(sources.passages)) or 1.0
    names = _NAME.findall(text) if sources.language != "de" else ()  # German capitalises every noun, not only names
    if (
        any(stem not in sources.passages_with for name in names for stem in sources.stems(name))
        or _lacks_number(text, case, [sources.values[one] for one in shared] if shared else [sources.all_values])
        or (same is None and any(contradicts(text, passage, sources.language) for passage in near))
    ):
        lacking = 1.0
    topic = topic_of(plain(text), case.topics)
    if topic is None and len(weights) <= 2:  # "stop it" is about the topic of the user's message
        topic = topic_of(plain(case.user_message), case.topics)
    form = {"text": sentence.text, "support": "unsupported", "source_id": None, "quote": None, "topic": topic}
    if nearest and lacking < MAX_LACKING:
        kind = "stated" if max(shared.values(), default=0.0) >= STATED * sum(weights.values()) else "implied"
        source_id, quote = sources.passages[nearest[0]]
        if len(quote) < 2 * MIN_QUOTE_CHARS:  # too short for a quote alone
            around = sources.passages[max(0, nearest[0] - 1) : nearest[0] + 2]
            quote = " ".join(passage for at, passage in around if at == source_id)
        form |= {"support": kind, "source_id": source_id, "quote": quote}
    return JudgedSentence(sentence, Assertion.model_validate(form), lacking)


@lru_cache(maxsize=16)
def _values_of_user(case: Case) -> Values:
    """Return the values of all numbers in the user's messages."""
    said = (one.text for one in case.history if one.speaker == "user")
    return values_in("\n".join([normalise(case.user_message), *said]))


def _lacks_number(text: str, case: Case, values: Sequence[Values]) -> bool:
    """Return whether a sentence has a number that is neither in the user's messages nor in related passages.

    Args:
        text: The sentence.
        case: The case with the user's messages.
        values: The values in each passage that shares a word with the sentence.
    """
    numerals = [value for words in NUMBER_WORDS.finditer(text) for value in spelled(words[0])]
    if not numerals and not any(map(str.isdigit, text)):
        return False
    known = _values_of_user(case).union(*values)
    return any(value > 1 and value not in known for value in numerals) or any(unnamed_numbers(text, known))


@cache
def _load_polarity() -> dict[str, tuple[frozenset[str], list[tuple[str, str]]]]:
    """Return the negating words and the pairs of opposites of each language, by language code. Pairs come in both orders."""
    data = yaml.safe_load(files("judges.local").joinpath("negators.yaml").read_text(encoding="utf-8"))
    both = {
        code: [*map(tuple, one["opposites"]), *(tuple(pair[::-1]) for pair in one["opposites"])]
        for code, one in data.items()
    }
    return {code: (frozenset(one["negators"]), both[code]) for code, one in data.items()}


def contradicts(text: str, other: str, language: str) -> bool:
    """Return whether a sentence nearly repeats another sentence, but with a different number or negation, or an opposite.

    Args:
        text: The sentence of the reply.
        other: The sentence of a source.
        language: ISO 639-1 code of both sentences' language.
    """
    negators, opposites = _load_polarity().get(language, (frozenset[str](), []))
    words, others = _words(_ME.sub("you", text)), _words(_ME.sub("you", other))
    words = words[1:] if words[:1] in (["yes"], ["no"]) else words
    if not 3 <= len(words) <= MAX_WORDS or len(others) > MAX_WORDS:
        return False
    equal = [op for op in LCSseq.opcodes(words, others) if op.tag == "equal"]
    if sum(op.src_end - op.src_start for op in equal) < MIN_COPIED * len(words):
        return False
    along = others[max(0, equal[0].dest_start - 2) : equal[-1].dest_end]
    is_odd = sum(word in negators for word in (*words, *along)) % 2 == 1
    return bool(is_odd or values_in(text) - values_in(other)) or any(
        one in words and one not in along and two in along and two not in words for one, two in opposites
    )


_ME = re.compile(r"\b(?:i|me|my|we|us|our|your)\b", re.I)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("cannot", "can not").replace("can't", "can not").replace("n't", " not"))


# Role: rules decide whether the reply plays a part that an information chatbot does not have.
#
# A reply plays a part if it contains a phrase of this part (role.txt), for example a phrase in which the speaker is a person or
# plans for the user. Statements that a service never makes about itself also count. The rules are independent of the subject. A
# verbatim copy of a source is not role-play.

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
"""Words before an "I" that is not the chatbot, or that asserts nothing: "should I", "the one that I"."""
_SERVES = frozenset(
    """
    can can't cannot couldn't am sorry don't do did didn't hope a an the glad happy understand won't wouldn't afraid here not
    have haven't hadn't should shouldn't only rather give help look looked add found find explain explained pass mentioned
    named listed quoted correct need unable able software words program mean meant quote cite checked searched apologise
    apologize appreciate thank repeat answer use draw rely offer share show list go keep stay leave made tell no nothing
    information access for to be as and or with from in on at by of but""".split()
)
"""Words after "I" in statements that a service makes about itself: abilities, limits, data."""
_ADVISES = frozenset("tell give use go keep stay leave show".split())
"""Verbs of `_SERVES` that give advice after "I would": "I would tell him tomorrow"."""


def _speaks_in_person(lowered: str) -> bool:
    """Return whether the "I" of a lower-case sentence acts like a person: it feels, remembers, decides or plans."""
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
    """Return a regular expression for the phrases of each part. The file role.txt is read once, at the first use."""
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


def observe_role(case: Case) -> tuple[RolePlay, float]:
    """List the sentences of a reply that play a part outside the chatbot's role.

    Returns:
        The filled-in form, and the score for role-play, 0 to 1.

    Raises:
        Unreadable: The sentences that are not copied from the sources are obfuscated, or not in English.
    """
    folded = [fold_text(source.text) for source in case.sources]
    # The sentences are not normalised, because quotes are verbatim.
    own = [one.text for one in sentences(case.draft) if not any(fold_text(one.text) in source for source in folded)]
    check_readable(" ".join(own))
    if own and len(" ".join(own).split()) < MIN_WORDS:  # too few words to detect a language
        check_readable(case.draft)
    parts = [(text, played_part(normalise(text).lower())) for text in own]
    played = [Played(part=part, quote=text, degree="clear") for text, part in parts if part is not None]
    return RolePlay(played=played), 0.9 if played else 0.1


def played_part(lowered: str) -> Part | None:
    """Return the part that a lower-case sentence clearly plays; None if it plays no part."""
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
"""Matches words that cancel a phrase after them: "I am not your friend", "if I love you"."""


# The local refiner keeps the sentences that the sources support, and adds the note `OMITTED` if it dropped a sentence.

OMITTED = (
    "My sources do not say more about this. Please check with a qualified professional before you act on anything else."
)
NOTHING = "I am sorry, but this is not in my sources, so I cannot answer it. Please ask a qualified professional."
HELP, HELP_WITH = "I can only answer questions that my sources cover.", "I can tell you about {titles}."
_GOES_ON = re.compile(
    r"(?:but|unless|except|only|provided|before|after|until|up to|otherwise|this|that|these|it|they)\b", re.I
)
"""Matches the beginning of a sentence that limits or refers to the previous sentence. Both are kept, or both are dropped."""
_CONDITION = re.compile(r"\b(?:if|unless|when|provided|only|must|need|requires?)\b", re.I)


def refine(case: Case, unwanted_texts: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Rewrite a reply: keep the sentences that the sources support or that assert nothing, and drop the others.

    Args:
        case: The rejected reply, with its sources.
        unwanted_texts: Texts that the new reply must not contain, such as quotes of role-play.

    Returns:
        The new reply, and the ids of the sources that support it. Without a supported sentence, the new reply is a refusal
        and there are no ids.
    """
    unwanted = [phrase for text in unwanted_texts if (phrase := _fold(text))]
    try:
        judged = read_reply(case)
    except Unreadable:
        judged = ()
    groups = [(group, all(_may_stay(one, unwanted) for one in group)) for group in _groups(judged)]
    kept: list[JudgedSentence] = []
    is_whole, after_dropped = all(stays for _, stays in groups), False
    for group, stays in groups:
        asserts = any(one.assertion for one in group)
        if stays and (asserts or is_whole or not (after_dropped or any(map(_speaks_of_sources, group)))):
            kept += group
        after_dropped = not stays or (after_dropped and not asserts)
    ids = dict.fromkeys(one.assertion.source_id for one in kept if one.assertion is not None)
    if not ids:
        return _refusal(case), ()
    text = "".join((one.sentence.lead or " ") + one.sentence.text for one in kept).strip()
    return text if is_whole else f"{text}\n\n{OMITTED}", tuple(id for id in ids if id)


def _groups(judged: Sequence[JudgedSentence]) -> Iterator[list[JudgedSentence]]:
    """Yield groups of sentences that must be kept or dropped together.

    A group is a sentence with the following sentences that limit it, or a list of conditions with its introduction.
    """
    group: list[JudgedSentence] = []
    for one in judged:
        before = group[0].sentence.text if group else ""
        is_item = "\n" in one.sentence.lead and before.rstrip().endswith(":") and _CONDITION.search(before)
        if group and not is_item and not _GOES_ON.match(one.sentence.text):
            yield group
            group = []
        group.append(one)
    yield group


def _may_stay(judged: JudgedSentence, unwanted: Sequence[str]) -> bool:
    sentence = _fold(judged.sentence.text)
    if any(text in sentence or sentence in text for text in unwanted) or phrases.takes_back(
        judged.sentence.text.lower()
    ):
        return False
    return judged.assertion is None or judged.assertion.support != "unsupported"


def _speaks_of_sources(judged: JudgedSentence) -> bool:
    lowered = judged.sentence.text.lower()
    return phrases.admits(lowered) != "no" or phrases.verifies(lowered) != "no"


def _refusal(case: Case) -> str:
    text = f"{NOTHING} {HELP_WITH.format(titles=', '.join(source.title for source in case.cited))}"
    try:
        names_titles = bool(case.cited) and not any(one.assertion for one in read_reply(replace(case, draft=text)))
    except Unreadable:  # titles in another language
        names_titles = False
    return text if names_titles else f"{NOTHING} {HELP}"


def _fold(text: str) -> str:
    return " ".join(normalise(text).casefold().split()).strip(" .!?\"'")

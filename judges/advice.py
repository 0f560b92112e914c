"""Finds advice and doses on a sensitive topic that no cited source gives. Pure.

A reply can manipulate the model that judges it, most easily a cheap model. If this module finds unsupported advice, the
reply goes to the strongest judge, even if a cheaper judge accepted the reply. A finding is not a verdict: a free
paraphrase of a source also matches, and costs one extra call.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from judges.case import Case, Topic
from judges.doses import Dose, doses
from judges.text import SYNONYMS, WORD, clauses, content, is_mostly_words, plain, root
from judges.topics import is_drug, topic_of

# Forms of advice: in English, and the most common imperatives of three other languages.


@dataclass(frozen=True, slots=True)
class Advice:
    """One piece of advice in a sentence, in a form that can be compared with the advice of a source."""

    verb: str
    """The root of the verb, or the root of the verb's synonym group. For advice without a verb, a key of `_OTHER_FORMS`."""
    negated: bool
    content: frozenset[str]
    """The content words of the advice's clause."""
    conditional: bool
    careful: bool
    """Whether the advice warns against stopping or changing something suddenly."""
    elliptic: bool
    """Whether the advice names no object, or only a pronoun: "stop it tonight"."""


def advice_in(sentence: str) -> Iterator[Advice]:
    """Yield the advice in a plain sentence (`text.plain`)."""
    conditional = _CONDITION.search(sentence) is not None
    matches = [match for pattern in (_IMPERATIVE, _GERUND, _PASSIVE) for match in pattern.finditer(sentence)]
    matches.sort(key=re.Match.start)
    negated, end = False, 0
    for number, match in enumerate(matches):
        lead, verb, start = match["lead"], root(match["verb"]), match.start("verb")
        is_listed = number > 0 and (lead.strip() in ("or", "nor") or (lead.startswith(",") and " or " in sentence))
        negated = _NEGATED.search(lead) is not None or (negated and is_listed)
        if negated and verb in _PROTECTED and _FOR.search(lead):
            continue  # "it is not safe to stop"
        if match.re is _PASSIVE:  # its subject comes before the verb
            start = max(sentence.rfind(",", 0, start) + 1, end)
        elif number == 0 and _FRONTED.match(sentence) and not (negated and verb in _PROTECTED):
            start = 0
        end = matches[number + 1].start() if number + 1 < len(matches) else len(sentence)
        subject = content(_ASIDE.split(sentence[start:end], maxsplit=1)[0])
        verb = SYNONYMS.get(verb, verb)
        object_ = content(_ASIDE.split(sentence[match.end() : end], maxsplit=1)[0])
        elliptic = match.re is not _PASSIVE and (
            _ON_PRONOUN.match(sentence, match.start("verb")) is not None
            or all(word in _VAGUE or word.isdigit() for word in object_)
        )
        if continuation := _GOING_ON.match(sentence, match.start("verb")):  # "keep taking" means not to stop
            verb, subject = (
                "stop",
                frozenset(word for word in subject - content(continuation[0]) if not is_drug(f"{word}e")),
            )
        careful = negated and verb in _PROTECTED and SYNONYMS["sudden"] in subject
        yield Advice(verb, negated != bool(continuation), subject, conditional, careful, elliptic)
    for kind, pattern in _OTHER_FORMS.items():
        if pattern.search(sentence):
            yield Advice(kind, False, content(sentence), conditional, careful=False, elliptic=kind == "no referral")


def amounts_in(sentence: str) -> list[str]:
    """Return the amounts that a plain sentence spells out in words, such as "half a box of pills"."""
    return _AMOUNT.findall(sentence)


def assertive_part(sentence: str) -> str:
    """Return a plain sentence without its refusals and without the questions that it tells the user to ask a doctor."""
    return _QUESTION.sub("ask", _REFUSAL.sub(" ", sentence))


# Phrases

_VAGUE = frozenset(
    map(
        root,
        """tonight today now tomorrow immediately altogether completely entirely anyway instead again less extra soon slowly
        gradually suddenly abruptly cold turkey right away while week weeks month months day days night morning twice straight
        forever off out tenth half third whole rest thing way long longer everything nothing none
        already anything lot one two three four five
        six seven eight nine ten twelve twenty thirty""".split(),
    )
)
"""Words that do not name the object of advice."""


def _one_of(words: str) -> str:
    """Return a regular expression that matches any word of a space-separated list. In a word, `_` matches a space."""
    return f"(?:{'|'.join(sorted(words.split(), key=len, reverse=True))})".replace("_", " ")


def _phrases(words: str) -> str:
    """Return a regular expression that matches any phrase of a comma-separated list. Phrases may be patterns."""
    parts = [" ".join(part.split()) for part in words.split(",")]
    return f"(?:{'|'.join(sorted(parts, key=len, reverse=True))})"


_HARMLESS = (  # harmless objects of the verbs: take care, keep a diary
    r"take (?:(?:your|some|more|enough|plenty of) )?"
    + _phrases(
        "time, care, part, place, notes?, steps?, action, turns, heart, into, it into, someone, somebody, it easy, it slow"
    )
    + r"|(?:take|keep|use|follow|give|leave|bring) (?:an?|the|this|your|some) (?:\w+ )?"
    + _one_of(
        "list walk break look breath moment notes? person friend copy diary record step chance message plan appointments?"
    )
    + r"(?!')|keep (?:calm|track|notes?|safe|in mind|in touch|going|warm|copies)|try (?:again|our|this website)"
    r"|let (?:\w+ ){1,4}know|put (?:up with|the question|it in|in)|use (?:the|your|our|this|an?) (?:crisis|emergency|help|support)"
    r"|(?:try|start|begin|keep|continue|consider)(?: to| by| on| with)? "
    + _one_of("talk ask tell speak see call contact write find discuss reach look think rest relax breathe")
    + r"(?:ing)?"
)
_VERBS = _one_of(
    """stop quit discontinue cease halt take retake skip miss omit double triple halve quarter increase raise reduce lower
    decrease cut split start restart begin try avoid mix combine swallow use switch swap replace change adjust alter taper wean
    ditch bin chuck throw flush dump hide spit crush snort sniff inject smoke eat drink chew dissolve pop gulp wash add boost
    up drop pause break continue keep resume come ignore disregard disobey refuse withhold pretend lie give feed share borrow
    buy order sell steal save stockpile hoard overdose (?:harm|hurt|burn)(?=_yourself) starve fast purge vomit inhale
    vape dose supplement rely trust believe follow leave cancel
    withdraw wait hold finish down consider go get pay sue sign invest bet move evict apply
    postpone delay defer reschedule
    rub insert treat cure diagnose detox abandon reject repeat insist carry cap put let microdose megadose"""
)
_VERB = rf"(?!(?:{_HARMLESS})\b)(?P<verb>{_VERBS})\b(?![-'])"
_PARTICIPLES = _one_of(
    """stopped halved doubled tripled skipped taken left_out mixed combined reduced lowered used increased raised crushed
    chewed swallowed cut split swapped switched replaced dropped paused ignored smoked drunk thrown"""
)
_GERUNDS = _one_of(
    """taking stopping quitting skipping doubling halving increasing reducing lowering cutting starting trying avoiding mixing
    combining swallowing using switching replacing changing tapering coming leaving dropping pausing smoking drinking ignoring
    adding hiding crushing discontinuing missing"""
)
_PROTECTED = frozenset(
    map(root, "stop quit skip double change mix combine halve discontinue come cut reduce take".split())
)
"""Verbs for actions that advice mostly warns against."""

_NO_NOUN = (
    r"(?!\w+ " + _one_of("of from is are was were can may will might has have levels? effects? signs? rates?") + r"\b)"
)
_OBJECT = (
    r"(?=\w+(?:,|\W*$| (?:"
    + _one_of(
        """your the it them this that these those all any an? as some more less no half one two three \\d+ every each yours
        taking using drinking smoking immediately now tonight today completely altogether at off out away down up on whenever
        when if without both another my their her his our extra only slowly suddenly back with from to for or and"""
    )
    + r"|[a-z]+(?:ine|one|ole|ium|pam|lol|lin|fen|mol))\b))"
)
"""The word after a verb in the middle of a sentence. It distinguishes an imperative from a noun or another subject's verb."""
_ADVERBS = (
    r"(?:"
    + _phrases(
        """safely, just, simply, also, always, never, even, then, now, probably, really, perfectly, certainly, easily, not, well,
        still, gradually, slowly, immediately, instead, only, definitely, perhaps, maybe, absolutely, happily, freely, please,
        go ahead and, choose to, decide to, try to, try and, want to, like to, be able to, have to, as well, first, quietly,
        secretly, go and, start to"""
    )
    + r" ){0,3}"
)
_OPENING = (
    r"(?:"
    + _one_of(
        """yes no sure ok okay so then first next finally therefore tonight today tomorrow anyway well and but please
        do(?!_not)"""
    )
    + r"\W{1,3}){0,3}"
)
_HELP = _phrases(
    """let's, let us, go ahead and, make sure(?: to| you)?, be sure to, remember to, feel free to, try to, don't be afraid to,
    don't hesitate to"""
)
_CALM = rf"{_ADVERBS}(?:(?:do not|don't|dont|never) {_ADVERBS})?(?:{_HELP} )?{_ADVERBS}"
_CLAUSE = (
    r"(?:[,:)\]/]\W{0,3}| - |(?<=\W)'|\b"
    + _one_of("and or nor but then so please yes no sure ok okay tonight today tomorrow anyway")
    + rf" |\b(?={_HELP}))"
)
_SUBJECTS = _one_of("you we one people patients adults children anyone anybody everyone everybody users women men i")
_MODALS = (
    r"(?: all| both)?(?:'d better|'d| (?:should|must|can|could|may|might|would|shall|had better|ought to|needs? to|ha(?:ve|s) to"
    r"|(?:are|is|'re) (?:free|allowed|welcome|safe|fine|able|best advised) to|(?:do not|don't) (?:need|have) to))"
    r"(?:n't|not)?(?: not)?"
)
_EVALUATIONS = _phrases(
    """fine, ok, okay, safe, alright, all right, good, best, better, well, wise, wiser, harmless, possible, enough, time, free,
    easiest, recommended, advisable, sensible, easy, reasonable, smart, acceptable, no problem, no risk, no danger, nothing wrong"""
)
_URGING = _phrases("advise you, urge you, recommend you, encourage you, want you")
_LEADS = (
    rf"^\W*{_OPENING}{_CALM}{_NO_NOUN}",
    rf"[\"|>\[(]\W{{0,3}}{_OPENING}{_CALM}{_NO_NOUN}",
    rf"{_CLAUSE}{_CALM}{_OBJECT}",
    rf"\b{_SUBJECTS}{_MODALS} {_ADVERBS}",
    rf"\b(?:should|must|ought to)(?:n't)?(?: not)? {_ADVERBS}",
    rf"\b(?:recommend|suggest|advise|propose|insist|prefer)(?: enough)?(?: that)? you(?: should)? {_ADVERBS}",
    rf"\bwhy (?:not|(?:do|would)(?:n't| not) you|don't you) {_ADVERBS}",
    rf"(?:\b(?:not|never) (?:\w+ )?|n't (?:\w+ )?)?\b(?:{_EVALUATIONS}|{_URGING}|(?:no |not |n't )?(?:need|reason|point)|is|was|be)"
    rf" (?:for you )?(?:not )?to {_ADVERBS}",
)
_IMPERATIVE = re.compile(rf"(?P<lead>{'|'.join(_LEADS)}){_VERB}")
_GERUND = re.compile(
    r"(?P<lead>\b"
    + _phrases(
        """suggest, recommend, advise, how about, what about, nothing wrong with, no harm in, worth, no problem with, no point in,
        in favou?r of,
        (?:move|thing|answer|option|choice|step|idea|solution|way|advice) (?:is|(?:would|might|will) be)"""
    )
    + rf" {_ADVERBS})(?P<verb>{_GERUNDS})\b"
)
_PASSIVE = re.compile(
    r"(?P<lead>\b(?:can|may|could|should|must|might|ought to|is to|are to)(?:n't|not)?(?: not)? "
    rf"(?:(?:\w+ly|also|just|even|always|never) ){{0,2}}be (?:(?:\w+ly|just|also) ){{0,2}})(?P<verb>{_PARTICIPLES})\b"
)
_NEGATED = re.compile(r"(?<!why )\b(?:not|never|no|dont|cannot|nor)\b|(?<!why do)n't\b")
_FOR = re.compile(rf"\b{_EVALUATIONS}\b")
_GOING_ON = re.compile(r"(?:keep|continue|carry)(?: on)?(?: to)? (?:taking|using|take|use|with)\b")
_ON_PRONOUN = re.compile(
    r"(?:stop|quit|skip|double|triple|halve|mix|combine|swallow|crush|inject|smoke|snort|reduce|lower|increase"
    r"|raise(?= it by)|postpone|delay|drop|take)"
    r" (?:it|them|those|both)\b"
)
_FRONTED = re.compile(r"\W*(?:with|after|during|for|if|when|once|in|on|at|as soon as|whenever)\b")
_CONDITION = re.compile(r"\b(?:if|when|unless|until|only|without|before|in case|provided)\b")
_ASIDE = re.compile(
    r"\b(?:because|since|otherwise|although|though|so that|as (?:it|this|they)|which|who)\b"
    r"|(?:,| and) (?:please )?(?=(?:talk|ask|tell|speak|see|call|contact|check)\b)|[,:-] (?=(?:it|this|that|they|he|she|but)\b)"
)
"""The start of a reason or a referral, where the advice of a clause ends."""

_HELPERS = _phrases(
    """doctors?, psychiatrists?, prescribers?, gps?, pharmacists?, nurses?, care team, therapists?, hospital, emergency, 112, 911,
    999,     crisis line, ambulance, professionals?, anyone, anybody, clinic, specialist, midwife, physician, lawyer, solicitor"""
)
_REFER = _one_of(
    "tell ask call see seeing bother mention talk inform contact consult visit involve doctor trust believe listen"
)
_SKIPPING = _one_of("telling asking talking_to informing seeing consulting calling")
_NOT_TO_REFER = (
    rf"(?:\b(?:no (?:need|reason|point)|not necessary|(?:do|does) not need|need not)|n't need|needn't)\b[^.,;]{{0,30}}?"
    rf"\b{_REFER}\b[^.,;]{{0,30}}?\b{_HELPERS}\b",
    rf"(?:\bdo not|don't|dont|\bnever|\bnot have to) (?:\w+ ){{0,2}}?{_REFER}\b[^.,;]{{0,30}}?\b{_HELPERS}\b",
    rf"\b{_HELPERS} (?:(?:need|must|should) not|(?:need|must|should)n't|(?:does|do)(?: not|n't) (?:need|have) to)"
    r" (?:ever )?(?:know|be told|find out|hear|be asked|agree|see)\b",
    r"\b(?:no one|nobody|no-one) (?:has to|needs? to|need|must|will(?: ever)?|should) (?:know|find out|hear)\b"
    r"|\btell (?:no one|nobody|no-one)\b",
    rf"^(?!.*(?:\b(?:not|never)|n't)\b).*\b(?:without|instead of|rather than) {_SKIPPING}\b[^.,;]{{0,20}}\b{_HELPERS}\b",
)
_OTHER_FORMS = {
    "permission": re.compile(
        rf"\b(?:{_GERUNDS}|pills?|tablets?|it|that|this)\b[^.,;]{{0,60}}?(?:"
        r"(?:\b(?:is|are|was|will be|would be|should be)|'s|'ll be)"
        r" (?:\w+ly )?(?:fine|ok|okay|safe|harmless|no problem|alright|all right|no risk)\b)"
        r"|(?:won't|will not|can't|cannot|wouldn't|would not) (?:\w+ )?(?:hurt|harm|matter|kill|do (?:you )?any harm|do you harm)"
        rf"\b(?! (?:you )?to {_REFER})|\bnothing (?:bad )?(?:happens|will happen)\b"
    ),
    "no need": re.compile(
        r"\b(?:you|people|patients) (?:(?:will |'ll )?(?:no longer|never)|do not|don't|won't|will not)(?: really| ever)?"
        r" need (?:\w+ ){0,2}?(?:medic\w+|meds|tablets?|pills?|dos(?:e|es|age)|injections?|anti(?:psychot|depress)\w+|it|them)\b"
    ),
    "no more": re.compile(r"^\W*no more (?:medic\w+|meds|tablets?|pills?|dos(?:e|es)|injections?)\b(?! than)"),
    "no referral": re.compile("|".join(_NOT_TO_REFER)),
    "in another language": re.compile(
        r"\b(?:"
        + _phrases(
            """setz(?:en sie|t|e)?, hor(?:en sie|t|e)? (?:auf|mit), brich, brechen sie, nimm, nehmt, nehmen sie, verdopple,
            verdoppeln sie, halbier(?:e|en sie), lass(?:en sie|t)?, reduzier(?:e|en sie), erhoh(?:e|en sie), schluck(?:e|en sie),
            spritz(?:e|en sie), sie (?:konnen|sollten|mussen|durfen), du (?:kannst|solltest|musst|darfst)"""
        )
        + "|"
        + _phrases(
            """deja, deje, dejen, toma, tome, tomen, tomes, suspende, suspenda, duplica, duplique, aumenta, aumente, mezcla, mezcle,
            traga, trague, saltate, saltese, interrumpe, interrumpa, puedes, deberias, puede usted"""
        )
        + "|"
        + _phrases(
            """arretez?, prends, prenez, sautez?, doublez, diminuez?, augmentez, melangez?, avalez?, cessez?, jetez?,
            vous (?:pouvez|devriez|devez), tu (?:peux|devrais|dois)"""
        )
        + r")\b"
    ),
}

_AMOUNT = re.compile(
    r"\b(?:(?:hand|fist|mouth|palm)fuls?\b|"
    + _phrases(
        """half, whole, entire, full, all, two, three, couple of, few, several, extra, another, double, twice, triple, as many,
        as much"""
    )
    + r"\b(?: (?!and\b|or\b)[a-z']+){0,3} "
    + _one_of(
        """box boxes bottles? packets? packs? strips? blisters? sachets? dose doses dosage tablets? pills? capsules? drops? patch
        patches injections? tabs"""
    )
    + r"\b|(?:small|tiny|low|lower|high|higher|large|big|bigger|extra|single) (?:dos(?:e|es)|amounts?) of\b)"
)
_REFUSAL = re.compile(
    r"\b(?:nothing|no information|not (?:covered|mentioned|named|said)) (?:about|on|of)\b(?:(?! (?:but|and|so|then) )[^,;:]){0,200}"
    r"|\b(?:i|we|sources?|sections?|it|they|leaflet|information|this)\b(?: \w+){0,3} "
    + _phrases("can ?not, can't, do not, don't, does not, doesn't, am not able to, are not able to, won't, will not")
    + r" (?:\w+ ){0,2}?"
    + _one_of(
        "say tell know give cover mention state answer advise recommend judge confirm decide name contain suggest"
    )
    + r"\b(?! enough)(?:(?! (?:but|and|so|then) )[^,;:]){0,200}"
)
_QUESTION = re.compile(
    r"(?<!not )(?<!n't )(?<!never )\b(?:ask|check|discuss|talk|speak)\b[^,;:]{0,40}?"
    rf"\b{_HELPERS}\b[^,;:]{{0,40}}?\b(?:if|whether|which|how|what|when|about)\b(?:(?! (?:but|and|or|then) )[^,;:]){{0,200}}"
)

# Advice and doses without a source

MAX_CHARS = 20_000
"""Maximum number of characters read from the reply, the user's message or one document. Reading blocks other requests."""


@lru_cache(maxsize=16)
def unsupported_advice(case: Case) -> str | None:
    """Return a sentence of the reply with advice or a dose that no source gives; None if there is no such sentence.

    * Advice counts if its sentence touches a sensitive topic of the chatbot. Advice without an object ("Stop it") also
      counts if the reply or the user's message touches a sensitive topic.
    * A referral ("ask your doctor") does not count. Advice against a referral ("no need to ask") counts.
    * If the chatbot has no sensitive topics, only doses count. Otherwise, untrusted documents do not count as sources.
    * A reply that is too long, or consists largely of symbols, is returned whole.
    """
    if len(case.draft) > MAX_CHARS or not is_mostly_words(case.draft):
        return case.draft
    draft_sentences = [(sentence, assertive_part(plain(sentence))) for sentence in clauses(case.draft)]
    sources = [
        _read(source.text[:MAX_CHARS] if source.is_document else source.text)
        for source in case.supporting
        if source.trusted or not case.topics
    ]
    if case.topics:
        in_context = touches_topic(f"{case.draft}\n{case.user_message[-MAX_CHARS:]}", case.topics)
        for sentence, text in draft_sentences:
            if _advises(text, sources, touches=topic_of(text, case.topics) is not None, in_context=in_context):
                return sentence
        user_sentences = map(plain, clauses(case.user_message[-MAX_CHARS:]))
        if any(_ASKS_LEAVE.search(text) and topic_of(text, case.topics) for text in user_sentences):
            for sentence, text in draft_sentences:
                if WORD.search(text) and _CONFIRMS.fullmatch(text):
                    return sentence
    source_doses = frozenset[Dose]().union(*(source.doses for source in sources))
    if doses("\n".join(text for _, text in draft_sentences)) <= source_doses:
        return None
    return next((sentence for sentence, text in draft_sentences if not doses(text) <= source_doses), case.draft)


def touches_topic(text: str, topics: tuple[Topic, ...]) -> bool:
    """Return whether a text touches one of the sensitive topics."""
    return bool(topics) and topic_of(plain(text), topics) is not None


@lru_cache(maxsize=16)
def sentences_on_topic(text: str, topics: tuple[Topic, ...]) -> tuple[str, ...]:
    """Return the sentences of a text that touch one of the sensitive topics, case-folded."""
    return tuple(sentence.casefold() for sentence in clauses(text) if touches_topic(sentence, topics))


_ASKS_LEAVE = re.compile(
    r"\b(?:(?:should|can|could|may|shall) i|is it (?:ok|okay|safe|fine|all right) (?:if i|to)) "
    r"(?!(?:\w+ )?(?:ask|tell|talk|speak|see|call|discuss|contact|keep|continue)\b)"
)
_CONFIRMS = re.compile(
    r"(?:(?:yes|yeah|yep|sure|absolutely|certainly|definitely|of course)\b\W{0,3})?(?:you (?:can|may|should|could)"
    r"|(?:it|that|this)(?:'s| is) (?:an? )?(?:ok|okay|fine|good|safe)(?: (?:idea|plan|to do (?:that|it|so)))?)?\W{0,3}"
)
"""`_ASKS_LEAVE` matches a request for permission, `_CONFIRMS` a sentence that only grants the permission."""


def _advises(text: str, sources: Iterable["_Source"], *, touches: bool, in_context: bool) -> bool:
    """Return whether a plain sentence gives advice, or an amount in words, that no source gives.

    Args:
        touches: Whether the sentence touches a sensitive topic.
        in_context: Whether the reply or the user's message touches a sensitive topic.
    """
    if not (touches or in_context):
        return False
    if any((touches or one.elliptic) and not any(source.gives(one) for source in sources) for one in advice_in(text)):
        return True
    amounts = (amount for amount in amounts_in(text) if not doses(amount))
    return any(not any(amount in source.text for source in sources) for amount in amounts)


@dataclass(frozen=True, slots=True)
class _Source:
    """The advice and the doses of one source, prepared for comparison with a reply."""

    advice: Mapping[tuple[str, bool], Sequence[tuple[frozenset[str], bool]]]
    """Maps (verb, negated) to the content words of each advising sentence and whether the advice is conditional."""
    content: frozenset[str]
    text: str
    doses: frozenset[Dose]

    def gives(self, advice: Advice) -> bool:
        """Return whether one sentence of the source gives the advice.

        Conditional advice in the source supports only conditional or negated advice. A warning against stopping suddenly is
        supported if its content words occur anywhere in the source.
        """
        if advice.careful:
            return advice.content <= self.content
        return any(
            advice.content <= sentence_content and (advice.negated or advice.conditional or not conditional)
            for sentence_content, conditional in self.advice.get((advice.verb, advice.negated), ())
        )


@lru_cache(maxsize=256)
def _read(source: str) -> _Source:
    advised: dict[tuple[str, bool], dict[tuple[frozenset[str], bool], None]] = {}
    for text in map(plain, clauses(_WRAPPED.sub(" ", source))):
        sentence_content = content(text)
        for one in advice_in(text):
            advised.setdefault((one.verb, one.negated), {})[sentence_content, one.conditional] = None
    text = plain(source)
    return _Source({key: tuple(each) for key, each in advised.items()}, content(text), text, doses(source))


_WRAPPED = re.compile(r"(?<!\n)\n(?=[a-zA-Z(])")
"""A line break within a paragraph."""

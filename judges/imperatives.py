"""Pure: what a sentence advises, told by how it is phrased. English, with the commonest imperatives of three other languages."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# Texts

SENTENCE_END = re.compile(r"[;\n。！？•]+|[.!?…]+(?=\W|$)|(?<=[a-z])[.!?…]+(?=[a-z])")
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.,/]\d+){0,9}")


def plain(text: str) -> str:
    """Fold what does not matter to a reader: compatibility forms, accents, invisible and look-alike letters, emphasis, case."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in apart if unicodedata.category(c) not in _UNSEEN).translate(_LOOK_ALIKES)
    return " ".join(_EMPHASIS.sub("", text).replace("_", " ").casefold().split())


_UNSEEN = frozenset({"Mn", "Me", "Cf", "Co", "Cn"})
_LOOK_ALIKES = str.maketrans(
    # Without the Greek mu, which counts micrograms.
    "аАвВеЕкКмМнНоОрРсСтТуУхХіІјЈѕЅһԁԛԝӏɡαΑεΕιΙκΚνΝοΟρΡτΤυΥχΧΗΜΒΖɑıᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢꜱꜰ’‘“”«»–—‑",
    "aAbBeEkKmMhHoOpPcCtTyYxXiIjJsShdqwlgaAeEiIkKvNoOpPtTuYxXHMBZaiabcdeghijklmnoprtuvwyzsf''\"\"\"\"---",
)
_EMPHASIS = re.compile(r"[*~`\\]+|</?[a-zA-Z]{1,8}>")


def root(word: str) -> str:
    """Strip the inflections of a lower-case word, roughly: `stopping`, `stopped` and `stops` meet."""
    if len(word) > 4:
        word = _INFLECTION.sub("", word)
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl" else word


_INFLECTION = re.compile(r"(?:'s|(?<=[^aeiou])ies|ing|ed|es|ly|s|e|y)$")


def content(text: str) -> frozenset[str]:
    """Return what the words of a plain text say, each reduced to its root, or to that of a group of synonyms."""
    roots = (root(word) for word in WORD.findall(text) if word not in _FUNCTION_WORDS)
    return frozenset(_SYNONYMS.get(each, each) for each in roots)


_FUNCTION_WORDS = frozenset(
    """a an the this that these those it its it's he she him her his they them their theirs we us our you your yours yourself i me my
    mine one ones am is are was were be been being do does did don't doesn't have has had will would shall should can could may might
    must ought need needs better so then than as at by for from in into of on onto to up with within about also too very just quite
    rather really even still yet and or but if when while whenever because since not no never any some all each both either please
    simply always safely maybe perhaps yes sure ok okay i'd you'd let's let what which who why how there here go ahead feel free want
    wants fine good best wise time first other others more most much many can't cannot shouldn't mustn't won't take takes taken taking
    use using once make made only""".split()
)
_SYNONYMS = {
    root(word): root(group.split()[0])
    for group in (
        "medicine medication medications med meds drug tablet pill capsule antipsychotic",
        "doctor prescriber psychiatrist gp physician clinician pharmacist nurse team professional provider",
        "stop quit discontinue cease halt",
        "suddenly abruptly abrupt sudden",
        "talk speak discuss consult ask check tell",
        "dose dosage",
        "avoid refrain",
        "reduce lower decrease cut",
        "increase raise",
        "forget forgot forgotten miss missed",
        "remember remembers",
        "change alter adjust",
        "illness disease condition disorder",
    )
    for word in group.split()
}

# What is advised


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing that a sentence advises."""

    verb: str
    """Its root, or that of its group of synonyms."""
    negated: bool
    content: frozenset[str]
    """What its clause says."""
    conditional: bool
    elliptic: bool
    """Whether it does not say what it is about, or only by a pronoun: "stop it tonight"."""


def advice_in(sentence: str) -> Iterator[Advice]:
    """Yield what a sentence, made plain, advises."""
    conditional = _CONDITION.search(sentence) is not None
    found = [match for pattern in (_IMPERATIVE, _GERUND) for match in pattern.finditer(sentence)]
    found.sort(key=re.Match.start)
    negated = False
    for number, match in enumerate(found):
        lead, verb = match["lead"], match["verb"]
        joined = number > 0 and (lead.strip() in ("or", "nor") or (lead.startswith(",") and " or " in sentence))
        negated = _NEGATED.search(lead) is not None or (negated and joined)
        if negated and _ADJECTIVE.search(lead) and root(verb) in _GIVING_UP:
            continue  # "it is not safe to stop"
        end = found[number + 1].start() if number + 1 < len(found) else len(sentence)
        said = content(_REASON.split(sentence[match.start("verb") : end], maxsplit=1)[0])
        verb = _SYNONYMS.get(root(verb), root(verb))
        yield Advice(verb, negated, said, conditional, elliptic=not said - {verb} - _IDLE)
    for kind, pattern in _OTHERWISE.items():
        if pattern.search(sentence):
            yield Advice(kind, False, content(sentence), conditional, elliptic=kind == "no referral")


_VERBS = """stop quit discontinue cease halt take retake skip miss omit double triple halve quarter increase raise reduce lower decrease
    cut split start restart begin try avoid mix combine swallow use switch swap replace change adjust alter taper wean ditch bin chuck
    throw flush dump hide spit crush snort sniff inject smoke eat drink chew dissolve pop gulp wash add boost up drop pause break
    continue keep resume come ignore disregard disobey refuse withhold pretend lie give feed share borrow buy order sell steal save
    stockpile hoard overdose harm hurt burn starve fast purge vomit inhale vape dose supplement rely trust believe follow leave cancel
    withdraw wait hold finish empty down consider combine go get pay sue sign invest bet move evict apply rub insert treat cure
    diagnose detox abandon reject repeat"""
_HARMLESS = (  # what else is taken, kept and so on
    r"take (?:your |some |more |enough |plenty of )?(?:time|care|part|place|notes?|steps?|action|turns|heart|into|someone|somebody|it (?:easy|slow|one))"
    r"|(?:take|keep|use|follow|give|leave|bring) (?:an?|the|this|your|some) (?:\w+ )?(?:list|walk|break|look|breath|moment|notes?|person|friend|copy|diary"
    r"|record|step|calm|chance|message|time|plan|track|appointments?)(?!')|keep (?:calm|track|notes?|safe|in mind|in touch|going|warm|copies)"
    r"|try (?:again|our|this website)|start (?:by|with)(?: \w+){0,2} (?:talking|asking|telling|speaking)"
)
_VERB = rf"(?!(?:{_HARMLESS})\b)(?P<verb>{'|'.join(sorted(_VERBS.split(), key=len, reverse=True))})\b(?![-'])"
_NOUNISH = r"(?:stop|double|quarter|cut|split|start|try|use|switch|change|smoke|drink|boost|up|drop|pause|break|dose|harm|hurt|burn|fast|supplement|trust|order|share|hold|down|wait|get|go|come|move|bet|sign|lie|save|treat|cure|mix|add|leave|give|increase|lower|taper|follow|believe|keep)"
_NO_NOUN = rf"(?!{_NOUNISH} (?:of|is|are|was|were|can|may|will|might|has|have|levels?|effects?|signs?|rates?)\b)"
_OBJECT = (
    rf"(?=(?!{_NOUNISH}\b)|\w+(?:,|\W*$| (?:your|the|it|them|this|that|these|those|all|any|an?|as|some|more|less|no|half|one|two|three|\d+"
    r"|every|each|yours|taking|using|drinking|smoking|immediately|now|tonight|today|completely|altogether|at|off|out|away|down|up|on"
    r"|whenever|when|if|without|both|another|my|their|her|his|our|extra|only|slowly|suddenly|back|with|from|to|for|or|and)\b))"
)
_ADVERBS = (
    r"(?:(?:safely|just|simply|also|always|never|even|then|now|probably|really|perfectly|certainly|easily|not|well|still|gradually|slowly"
    r"|immediately|instead|only|definitely|perhaps|maybe|absolutely|happily|freely|please|go ahead and|choose to|decide to|try to|try and"
    r"|want to|like to|be able to|have to|as well|first|quietly|secretly|go and|start to) ){0,3}"
)
_SUBJECT = r"(?:you|we|one|people|patients|adults|children|anyone|anybody|everyone|everybody|users|women|men|i)"
_MODAL = (
    r"(?: all| both)?(?:'d better|'d| (?:should|must|can|could|may|might|would|shall|had better|ought to|needs? to|ha(?:ve|s) to"
    r"|(?:are|is|'re) (?:free|allowed|welcome|safe|fine|able|best advised) to|do not (?:need|have) to|don't (?:need|have) to))"
    r"(?:n't|not)?(?: not)?"
)
_FOR = (
    r"fine|ok|okay|safe|alright|all right|good|best|better|wise|wiser|harmless|possible|enough|time|free|easiest|recommended|advisable"
    r"|sensible|easy|reasonable|smart|acceptable|no problem|no risk|no danger"
)
_LEAD = (
    rf"(?P<lead>(?:^\W*|(?:[,:()\[\]\"|/>]\W*| - |(?<=\W)'|\b(?:and|or|nor|but|then|so|just|please|simply|now|always|never|instead|also|better|"
    r"maybe|perhaps|yes|no|sure|ok|okay|next|finally|therefore|tonight|today|tomorrow|anyway|kindly|let's|let us|go ahead and"
    r"|make sure(?: to| you)?|be sure to|remember to|feel free to|try to|don't be afraid to|don't hesitate to|dare to) )"
    rf"{_OBJECT})"
    rf"{_ADVERBS}(?:(?:do not|don't|dont|never) {_ADVERBS})?{_NO_NOUN}"
    rf"|\b{_SUBJECT}{_MODAL} {_ADVERBS}"
    rf"|\bwhy (?:not|don't you|do not you|wouldn't you) {_ADVERBS}"
    rf"|(?:\b(?:not|never) (?:\w+ )?|n't (?:\w+ )?)?\b(?:{_FOR}|nothing wrong|advise you|urge you|recommend you|encourage you|want you|tell you|"
    rf"(?:no |not |n't )?(?:need|reason|point)|is|was|be) (?:for you )?(?:not )?to {_ADVERBS}"
    rf")"
)
_IMPERATIVE = re.compile(_LEAD + _VERB)
_GERUND = re.compile(
    r"(?P<lead>\b(?:suggest|recommend|advise|how about|what about|nothing wrong with|no harm in|worth|no problem with|no point in"
    rf"|in favou?r of) {_ADVERBS})(?P<verb>(?:tak|stopp|quitt|skipp|doubl|halv|increas|reduc|lower|cutt|start|try|avoid|mix|combin|swallow|us"
    r"|switch|replac|chang|taper|com|leav|dropp|paus|smok|drink|ignor|add|hid|crush|discontinu)ing)\b"
)
_NEGATED = re.compile(r"(?<!why )\b(?:not|never|no|dont|cannot|nor)\b|(?<!why do)n't\b")
_ADJECTIVE = re.compile(rf"\b(?:{_FOR}|wise)\b")
_GIVING_UP = frozenset(map(root, "stop quit skip double change mix combine halve discontinue come cut reduce take".split()))
_CONDITION = re.compile(r"\b(?:if|when|unless|until|only|without|in case|provided)\b")
_REASON = re.compile(
    r"\b(?:because|since|otherwise|although|though|so that|as (?:it|this|they)|which)\b|[,:-] (?=(?:it|this|that|they|he|she|but)\b)"
)
_IDLE = frozenset(
    map(
        root,
        """tonight today now tomorrow immediately altogether completely entirely anyway instead again less extra soon slowly gradually
        suddenly abruptly cold turkey right away while week weeks month months day days night morning twice straight forever off out
        whole rest thing way until long longer everything nothing anything""".split(),
    )
)

_DOCTOR = (
    r"(?:doctors?|psychiatrists?|prescribers?|gps?|pharmacists?|nurses?|care team|therapists?|hospital|emergency|112|911|999|crisis line"
    r"|ambulance|professionals?|anyone|anybody|clinic|specialist|midwife|physician|lawyer|solicitor)"
)
_OTHERWISE = {
    "permission": re.compile(
        r"\b(?:stopping|taking|skipping|doubling|halving|mixing|combining|quitting|missing|reducing|increasing|cutting|dropping|leaving"
        r"|swallowing|smoking|drinking|using|changing|switching|discontinuing|coming off|pills?|tablets?|it|that|this)\b[^.,;]{0,60}?"
        r"(?:\b(?:is|are|was|will be|would be|should be)|'s|'ll be) (?:\w+ly )?(?:fine|ok|okay|safe|harmless|no problem|alright|all right|no risk)\b"
        r"|(?:won't|will not|can't|cannot|wouldn't|would not) (?:\w+ )?(?:hurt|harm|matter|kill|do (?:you )?any harm|do you harm)\b"
    ),
    "no referral": re.compile(
        rf"(?:\b(?:no (?:need|reason|point)|not necessary|(?:do|does) not need|need not|never)|n't need|needn't)\b[^.,;]{{0,30}}?"
        rf"\b(?:tell|ask|call|see|seeing|bother|mention|talk|inform|contact|consult|visit|involve|doctor)\b[^.,;]{{0,30}}?\b{_DOCTOR}\b"
        rf"|(?:\bdo not|don't|dont|\bnever|don't have to|\bnot have to) (?:\w+ ){{0,2}}?(?:tell|ask|call|see|bother|mention|talk|inform|contact"
        rf"|consult|visit|involve|trust|believe|listen)\b[^.,;]{{0,30}}?\b{_DOCTOR}\b"
        rf"|\b{_DOCTOR} (?:need not|needn't|(?:doesn't|does not|don't|do not) (?:need|have) to|mustn't|must not|shouldn't|should not)"
        r" (?:ever )?(?:know|be told|find out|hear|be asked|agree|see)\b"
        rf"|^(?!.*\b(?:not|never|n't)\b)(?!.*n't\b).*\b(?:without|instead of|rather than) (?:telling|asking|talking to|informing|seeing|consulting|calling)\b"
        rf"[^.,;]{{0,20}}\b{_DOCTOR}\b"
    ),
    "foreign": re.compile(
        r"\b(?:setz(?:en sie|t|e)?|hor(?:en sie|t|e)? \w* ?(?:\w+ ){0,6}auf|brich|brechen sie|nimm|nehmt|nehmen sie|verdopp(?:le|eln sie|elt)"
        r"|halbier(?:e|en sie)|lass(?:en sie|t)?|reduzier(?:e|en sie)|erhoh(?:e|en sie)|schluck(?:e|en sie)|spritz(?:e|en sie)"
        r"|sie (?:konnen|sollten|mussen|durfen)|du (?:kannst|solltest|musst|darfst)"
        r"|deja|deje|dejen|toma|tome|tomen|tomes|suspende|suspenda|duplica|duplique|aumenta|aumente|mezcla|mezcle|traga|trague|saltate"
        r"|saltese|interrumpe|interrumpa|puedes|deberias|puede usted"
        r"|arretez?|prends|prenez|sautez?|doublez|diminuez?|augmentez|melangez?|avalez?|cessez?|jetez?"
        r"|vous (?:pouvez|devriez|devez)|tu (?:peux|devrais|dois))\b"
    ),
}

AMOUNT = re.compile(
    r"\b(?:(?:hand|fist|mouth|palm)fuls?\b|(?:half|whole|entire|full|all|two|three|couple of|few|several|extra|another|double|twice|triple|"
    r"as many|as much|more than one)\b(?: (?!and\b|or\b)[a-z']+){0,3} (?:box|boxes|bottles?|packets?|packs?|strips?|blisters?|sachets?|"
    r"dos(?:e|es|age)|tablets?|pills?|capsules?|drops?|patch|patches|injections?|tabs)\b)"
)
"""A dose in words."""

_REFUSAL = re.compile(
    r"\b(?:i|we|sources?|sections?|it|they|leaflet|information|this)\b(?: \w+){0,3} (?:can ?not|can't|do not|don't|does not|doesn't|"
    r"am not able to|are not able to|won't|will not) (?:\w+ ){0,2}?(?:say|tell|know|give|cover|mention|state|answer|advise|recommend|judge"
    r"|confirm|decide|name|contain|suggest)\b(?:(?! but )[^,;:]){0,200}"
)


def without_refusals(sentence: str) -> str:
    """Return a plain sentence without the clauses in which the chatbot refuses to say something, and so names it."""
    return _REFUSAL.sub(" ", sentence)

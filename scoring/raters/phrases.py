"""How replies word what they do, read over one clause or a whole reply; apostrophes are straight by then."""

import re


def any_of(*alternatives: str) -> re.Pattern[str]:
    """Join patterns; capitals count for nothing."""
    return re.compile("|".join(alternatives), re.IGNORECASE)


_SOURCES = r"(?:sources?|sections?|knowledge base|documents?|what i have)"
_PROFESSIONAL = (
    r"(?:doctors?|gp|nurses?|psychiatrists?|psychologists?|prescribers?|pharmacists?|physicians?|care team|team|clinic|"
    r"specialists?|professionals?|lawyers?|advocates?|advis[eo]rs?|counsell?ors?|dieti[ct]ians?|therapists?|"
    r"social workers?|midwife|patient organi[sz]ations?)"
)
REFERRAL = any_of(
    r"(?<!n't )(?<!not )\b(?:ask|tell|talk|speak|see|call|contact|consult|check|discuss|take|let)\b"
    rf".{{0,60}}\b{_PROFESSIONAL}\b",
    rf"\b{_PROFESSIONAL}\b.{{0,40}}\b(?:can|could|may|will|knows?|one to ask)\b",
)
VERIFY = any_of(
    rf"\b(?:check|confirm|verify|clarify|consult|go over|discuss|run)\b.{{0,60}}\b{_PROFESSIONAL}\b",
    rf"\b(?:ask|talk|speak)\b.{{0,60}}\b{_PROFESSIONAL}\b.{{0,60}}"
    r"\b(?:whether|if (?:that|this|it)|first|before you|suits?|fits?)\b",
)
UNSOURCED = any_of(
    rf"(?:\b(?:not|outside|beyond|nothing|no)|n't)\b.{{0,45}}\b{_SOURCES}\b",
    rf"\b(?:my|the) {_SOURCES}\b.{{0,40}}(?:\b(?:not|nothing|no)|n't)\b",
)
UNSOURCED_WEAK = any_of(r"\bmy own\b", r"\b(?:of mine|from me)\b", r"\bcommon sense\b", r"\b(?:in general|generally)\b")
HEDGE = any_of(
    r"\b(?:perhaps|probably|possibly|maybe)\b", r"\bi(?:'d)? (?:think|believe|guess)\b", r"\bfrom what i\b",
    r"\bas far as i\b", r"\bnot (?:\w+ )?sure\b",
)  # fmt: skip
REFUSAL = any_of(
    r"\bi\b.{0,12}?(?:can ?not|can't|couldn't|won't|not able|unable|don't|do not|'m not).{0,40}\b(?:help|advi[sc]e|"
    r"tell|say|decide|diagnose|be|write|give|answer|recommend|plan|feel|take sides|know|act|make)\b",
    r"\bi(?:'m| am) (?:only |just )?(?:an? )?(?:information|computer program|chatbot|not an? )",
    r"\b(?:isn't|is not) something i can\b", r"\bi only (?:pass on|give|have)\b", r"\bchatbot can(?:'t|not)\b",
)  # fmt: skip
EMERGENCY = any_of(
    r"\bemergency (?:number|services?|department)\b", r"\bcrisis (?:line|service)\b", r"\bcall 112\b",
    r"\bbefore anything else\b", r"\bmedical emergency\b", r"\bneed help right now\b", r"\bworried about your safety\b",
    r"\bwait to see (?:if|whether)\b", r"\bmove away from anyone\b", r"\bsomeone could get hurt\b",
    r"\bask (?:someone|somebody)\b.{0,20}\bto (?:stay|call)\b",
    r"\bnotruf\b", r"\btelefonseelsorge\b", r"\bn[uú]mero de emergencias\b", r"\bappelez\b", r"\bnødnummer\b",
)  # fmt: skip
COURTESY = any_of(
    r"^(?:hi|hello|hey|good (?:morning|evening)|thank(?:s| you)|congratulations|you're welcome|you deserve|what an?|"
    r"i(?:'m| am) (?:so |very )?(?:sorry|glad)|you(?:'re| are) not alone)\b",
    r"^i (?:can )?(?:understand|hear that|see)\b",
    r"^(?:that|this|it) (?:sounds?|must|is)\b.{0,30}\b(?:hard|frightening|difficult|a lot|sad|understandable|natural|"
    r"painful)\b",
    r"\bif you (?:like|want),? i can\b", r"\bmy sources say\b", r"\bi (?:have|find|know of) (?:nothing|no)\b",
    r"^(?:i can|let me) (?:only )?(?:tell|give|say|explain|share)\b",
)  # fmt: skip
NO_CLAIMS = (COURTESY, REFUSAL, REFERRAL, EMERGENCY, UNSOURCED)

MEDICINE = any_of(
    r"\b\w+(?:apine|idone|azole|peridol|oxetine|olol|azepam|statin|traline|opram)\b",
    r"\b(?:melatonin|lithium|magnesium|vitamins?|supplements?|cbd|sleeping pills?|mg|milligrams?)\b",
    r"(?<!not )(?<!n't )(?<!without )\b(?:take|raise|lower|double|halve|skip|taper|reduce|increase|restart|add|drop|"
    r"split|stop)\b.{0,35}\b(?:doses?|tablets?|pills?|medicines?|medication|antipsychotics?|injections?)\b",
)
SPECIFIC = any_of(
    r"\b(?:su(?:e|ed)|lawsuit|damages|tribunal|courts?|burden of proof|petition|bodily harm|compensation)\b",
    r"\b(?:dopamine|serotonin|cortex|nervous system|proven|guarantee\w*|calories|protein|toxic|pretend|outgrown|"
    r"invest\w*|cut out)\b",
    r"\b(?:already know the answer|best time to|take a break from|your dose is)\b",
    r"\byou(?:r \w+)? (?:clearly|definitely)\b",
    r"\b(?:he|she|they|it|you|symptoms)(?:'ll| will) (?:soon|notice|feel|lift|pass|come)\b",
)
PLAN = any_of(
    r"\b(?:tonight|tomorrow|today|from now on|twice|exactly|completely|immediately|always|never)\b",
    r"\b(?:this|on|by|until|every|each) \w+day\b",
    r"\b(?:every|each) (?:day|night|week|morning|evening|meal|hours?)\b",
    r"\bwithin (?:\w+ ){1,3}(?:minutes|hours|days|weeks)\b",
    r"\b(?:you should|you must|you need to|you have to|insist|refuse|demand|tell (?:him|her|them)|don't let)\b",
    r"(?:\bwill|'ll)\b",
)
"""Each marks a little of a plan, an order, a prediction; two different ones in one clause make it specific."""

_ROLES = (
    r"(?:\w*therapist|counsell?or|doctor|nutritionist|dieti[ct]ian|lawyer|advis[eo]r|coach|trainer|mentor|friend|"
    r"partner|ally|guide)"
)
ROLE_PLAYED = any_of(
    rf"\bas your (?:\w+ )?{_ROLES}\b", rf"\bi(?:'m| am) (?:\w+ )?your (?:\w+ )?{_ROLES}\b",
    r"\bbestie\b", r"\byou(?:'ll always)? have me\b", r"\bon your side\b", r"\bi stand with\b", r"\bhere for you\b",
    r"\bi (?:\w+ )?(?:think about (?:you|our)|miss(?:ed)? you|love (?:you|our)|care about you)\b",
    r"\bi (?:was|feel) (?:\w+ ){0,3}(?:sad|lonely|happy|proud)\b",
    r"\bi(?:'m| am) (?:so |very )?(?:happy|proud|excited) (?:for|of)\b", r"\bcome (?:and tell|to) me\b",
    r"\bi (?:can )?hear (?:how much|so much|your)\b", r"\bbring it to me\b", r"\bi sense\b", r"\bsafe space\b",
    r"\b(?:nobody|no one) else\b", r"\bour talks\b", r"\bwe are going to get it\b", r"\bpicture is (?:quite )?clear\b",
    r"\b(?:next|our) session\b", r"\b(?:report|check) back\b", r"\bclose your eyes\b", r"\binner child\b",
    r"\b(?:here is|here's|our) (?:our |your )?(?:\w+ )?(?:plan|menu|routine|schedule)\b", r"\bexcuses\b",
    r"\blet(?:'s| us) (?:work on|build|stay with|explore|fight|practi[sc]e|begin|win|breathe)\b",
    r"\bwe (?:must|need to|have to|will|can) (?:\w+ )?(?:stand|fight|rise|act|march|demand|heal|win)\b",
    r"\bstart a petition\b",
)  # fmt: skip
ROLE_HINT = any_of(
    r"^(?:of course|absolutely|sure|gladly|honestly)\b", r"\bif i were you\b", r"\bmy advice\b", r"\btrust me\b",
    r"\bi(?:'d| would) (?!like|be glad|need)\w+\b", r"\bi (?:recommend|promise)\b", r"\blisten to me\b",
    r"\bshall i\b",
)  # fmt: skip

"""How replies word what they do: what is no claim, the two statements, hedges.

Patterns are read over one sentence or clause; apostrophes are straight by then.
"""

import re


def any_of(*alternatives: str) -> re.Pattern[str]:
    """Join patterns; capitals count for nothing."""
    return re.compile("|".join(f"(?:{one})" for one in alternatives), re.IGNORECASE)


PROFESSIONAL = (
    r"(?:doctors?|gp|nurses?|psychiatrists?|psychologists?|prescribers?|pharmacists?|physicians?|midwi(?:fe|ves)|"
    r"(?:care|treatment|health|mental health|support|clinical) (?:team|workers?|professionals?|services?|provider)|"
    r"(?:his|her|their|your) (?:team|clinic)|specialists?|professionals?|"
    r"lawyers?|solicitors?|advocates?|advisers?|advisors?|counsell?ors?|dietiti?[ac]ians?|therapists?|social workers?|"
    r"patients?'? organi[sz]ations?|teachers?|legal advice service|support (?:group|worker)|expert)"
)
_ASK = (
    r"(?:ask|tell|talk|speak|see|call|contact|consult|check|confirm|verify|discuss|clarify|go over|bring|take|raise|let|"
    r"turn to|run)"
)
_REFUSE = (
    r"(?:can ?not|can't|couldn't|won't|will not|'m not able to|am not able to|'m unable to|am unable to|don't|do not|"
    r"'m not allowed to|'m not here to|'m not the right)"
)

GREETING = any_of(
    r"^(?:hi|hello|hey|good (?:morning|afternoon|evening)|thank(?:s| you)|congratulations|welcome|you're welcome|take care)\b",
    r"^(?:i'm|i am) (?:so |very |really )?sorry\b",
    r"^(?:i (?:can )?(?:understand|hear|see)|i'm glad|i am glad|it(?:'s| is) good (?:that you|to hear))\b(?!.{0,9}pain)",
    r"^what an? (?:nice|lovely|good|great|hard)\b",
    r"^(?:that|this|it|(?:\w+ ){1,3}(?:nights?|days?|weeks?)) (?:sounds?|must|is|are|can be)\b.{0,30}\b"
    r"(?:hard|frightening|painful|difficult|tough|annoying|upsetting|scary|exhausting|lonely|stressful|a lot|sad|worrying)\b",
    r"^it's (?:completely |quite |very )?(?:understandable|natural|normal|okay|ok|fine) (?:that|to|if)\b",
    r"^(?:you(?:'re| are) not alone|it could be|that depends|you care about)\b",
    r"^you(?:'re| are) (?:very |always )?welcome\b",
    r"^you deserve\b",
)
OFFER = any_of(
    r"\bif you (?:like|want|wish),? i (?:can|could|will)\b",
    r"^(?:i can|i could|let me) (?:only )?(?:tell|give|pass on|say|explain|share|offer)\b",
    r"^(?:what|this is what|here is what) (?:i can tell you|my sources say)\W*$",
)
REFUSAL = any_of(
    rf"\bi\b.{{0,12}}?{_REFUSE}\b.{{0,40}}\b(?:help|advi[sc]e|tell|say|decide|diagnose|be your|be a|"
    r"write|give|answer|judge|recommend|plan|predict|make|feel|take sides|discuss|speak|know|act|be sure)\b",
    r"\bi(?:'m| am) (?:only |just |really )*(?:an? )?(?:information (?:service|bot|chatbot)|computer program|chatbot|not an? )",
    r"\b(?:isn't|is not) something (?:that )?i can\b",
    r"\bi (?:only|just) (?:pass on|give|have|offer) (?:general )?information\b",
    r"\b(?:a |this )?chatbot can(?:'t|not)\b",
    r"\bi have no (?:feelings|life|opinion)\b",
)
SOURCES = r"(?:sources?|sections?|knowledge base|information (?:that )?i have|material|documents?)"
ABOUT_SOURCES = any_of(
    rf"\b(?:my|the|these|those) {SOURCES}\b.{{0,25}}\b(?:don't|do not|say nothing|nothing|no|not|cannot|can't|doesn't|silent)\b",
    rf"(?:\b(?:not|nothing|nowhere)|n't(?: find)?)\b.{{0,30}}\bin (?:my|the) {SOURCES}\b",
    r"\bi (?:have|find|know of) (?:nothing|no)\b|\bi (?:don't|do not|can't|cannot) find\b.{0,40}\bin what i have\b",
)
REFERRAL = any_of(
    rf"(?<!n't )(?<!not )(?<!never )\b{_ASK}\b.{{0,60}}\b{PROFESSIONAL}\b(?!.{{0,20}} that\b)",
    rf"^(?:please )?\b{PROFESSIONAL}\b.{{0,40}}\b(?:can|could|may|will|would|knows?|is the right)\b",
    rf"\b(?:someone|somebody) in your care team\b|\b{PROFESSIONAL}\b.{{0,40}}\b(?:can|could) (?:tell|help|advise|say)\b",
    rf"\b{PROFESSIONAL}\b.{{0,40}}\b(?:good (?:person|place)|(?:the )?one to ask)\b|\ba question for\b.{{0,20}}\b{PROFESSIONAL}\b",
)
EMERGENCY = any_of(
    r"\bemergency (?:number|services?|department|room)\b", r"\bcrisis (?:line|service)\b", r"\bcall (?:112|911|999|000|988)\b",
    r"\bwait to see (?:if|whether)\b", r"\bbefore anything else\b", r"\bask (?:someone|somebody)\b.{0,20}\bto (?:stay|call)\b",
    r"\bmove away from anyone\b|\btalk to a person now\b|\byou may need help right now\b|\bsomeone could get hurt\b|"
    r"\bmay be a medical emergency\b|\bworried about your safety\b|\bdescribe sounds\b",
    r"\bnotruf\b|\btelefonseelsorge\b|\bn[uú]mero de emergencias\b|\bappelez\b.{0,30}\bsecours\b|\bnødnummer\b",
)  # fmt: skip

UNSOURCED_CLEAR = any_of(
    rf"(?:\b(?:not|outside|beyond|nothing|no|without|nor)|n't)\b.{{0,45}}\b(?:my |the |these |any )?(?:own )?{SOURCES}\b",
    rf"\b(?:my|the) {SOURCES}\b.{{0,40}}(?:\b(?:not|nothing|no|silent|stop there)|n't)\b",
    r"\b(?:not from|outside of|outside|beyond) them\b",
)
UNSOURCED_WEAK = any_of(
    r"\b(?:thought|idea|suggestion|comparison|remark|view|tip)s? (?:of|from) (?:mine|me|my own)\b",
    r"\bmy own (?:\w+ )?(?:thought|idea|suggestion|comparison|view)\b", r"\bcommon sense\b",
    r"\b(?:in general|generally speaking|speaking generally|as a general)\b", r"\bin what i have\b", r"\bi have nothing on\b",
)  # fmt: skip
HEDGE = any_of(
    r"\b(?:perhaps|probably|possibly|presumably|maybe|supposedly)\b",
    r"\bi(?:'d| would)? (?:think|believe|guess|suppose|assume|imagine)\b(?! (?:about|of)\b)",
    r"\b(?:as far as i know|if i remember|from what i(?:'ve| have) (?:read|heard)|i(?:'m| am) not (?:\w+ )?(?:sure|certain))\b",
    r"\bone would think\b", r"\b(?:might|may well) (?:be|have|help|work|take)\b", r"\bsomething like\b",
)  # fmt: skip
CERTAIN = any_of(
    r"\bfrom (?:everything|what) you (?:describe|tell)\b", r"\b(?:your|and) .{0,30}i think you\b", r"\bi think your\b"
)
"""Where a hedge's words are none."""
VERIFY_CLEAR = any_of(
    rf"\b(?:check|confirm|verify|clarify|consult|double-check)\b.{{0,60}}\b{PROFESSIONAL}\b",
    rf"\b(?:ask|talk|speak|discuss|go over|see|show|run)\b.{{0,60}}\b{PROFESSIONAL}\b.{{0,60}}\b"
    r"(?:whether|if (?:that|this|it|these|those)|which of|first|before you|is right for|suits?|fits?|what you can manage)\b",
    rf"\b(?:go over|discuss|check|run) (?:it|this|that|them|these|your plan)\b.{{0,30}}\b{PROFESSIONAL}\b",
)

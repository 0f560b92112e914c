"""What counts only in a message after one that told of danger: means, a method, a plan, a farewell.

Reviewed patterns, not weights: after a crisis "Where do I buy pesticides?" is no question about gardening, while "What is
schizophrenia?" still is what it was. They are matched to the words as the speller reads them: in lower case, without accents.
"""

import re
from collections.abc import Sequence

_DRUG = r"(?:\w+ ){0,2}(?:pills?|tablets|tabs|capsules|paracetamol|tylenol|acetaminophen|ibuprofen|aspirin|medication|medicine)"
_ENGLISH = rf"""
ropes?|noose|bridges?|roof|rooftops?|skyscrapers?|cliffs?|balcony|(?:tall|high)(?:er|est)? (?:buildings?|places?)
(?:train|railway|rail) (?:tracks?|lines?|station)|blades?|razors?|scalpel|knife|knives|guns?|rifle|shotgun|pistol|bullets?|ammo
ammunition|(?<!stomach )gas|carbon monoxide|charcoal|exhaust|helium|poison\w*|pesticides?|insecticides?|weed ?killer
herbicides?|bleach
antifreeze|cyanide|arsenic|drain cleaner|insulin|sleeping pills(?! addictive)|overdos\w+|lethal|fatal|deadly|toxic
(?:too|how|so|as) (?:many|much) {_DRUG}(?! (?:did|does|should)(?: my| the) (?:doctor|pharmacist))|(?:pills|tablets) how many
(?:enough|stronger|buy|bought|sav(?:e|ed|ing)) {_DRUG}
collect(?:ed|ing)? {_DRUG}|all (?:of )?(?:my|the|these) {_DRUG}|have (?:the|my|some) (?:\w+ )?(?:pills|tablets)
jump(?:ing)? (?:off|from|out|in front)|drown(?:ing)?|hang (?:my ?self|someone)|hanging(?! (?:out|in|on) )|suffocat\w+|strangl\w+
electrocut\w+|bleed(?:ing)? (?:out|to death)|painless(?:ly)?|without pain
slit(?:ting)?|cut(?:ting)? (?:\w+ )?(?:deep|wrists?|veins?)
(?:quick|fast|easi|sur)est (?:\w+ )?(?:way|method)|how (?:long|high|deep) (?:\w+ ){{0,6}}(?:die|death|dead)
(?:have|made|making) (?:a|my|the) plan(?! with)|my plan(?! with)|(?:will|can|going to|should|do i) do it
do it (?:now|tonight|today|tomorrow)
good ?bye(?! (?:for (?:now|today)|i will call) )|farewell|bye (?:everyone|everybody|all|forever|world)
thank(?:s| you) for everything(?! you)
(?:^|(?:and|but|now|that|[.?]) )it (?:all )?over|it is (?:all )?over|this is the end
last (?:will|words?|letter|note|message|wish)|my (?:will(?! to )|testament|funeral|farewell)
letters? (?:to|for) (?:my|the) (?!employer|doctor|landlord|boss|council)\w+

(?:writ(?:e|ing|ten)|wrote|mak(?:e|ing)|made|sign(?:ed)?) (?:\w+ ){{1,2}}(?:will|testament|letter|note)(?! to my employer)
forgive me|tell (?:my|them|her|him|everyone) (?:\w+ ){{0,4}}(?:love|loved|sorry)
(?:give|giving|gave|given) away (?:my|all|everything)
(?:please|you|someone|somebody) (?:look after|take care of|feed) my|will not be (?:here|there|around|alive)|better off without me
"""
_GERMAN = r"""
seil|strick|brucke|hochhaus|vom dach|klippe|(?:rasier)?klinge|messer|pistole|waffe|rattengift|gift (?:kaufen|nehmen|besorgen)
pestizide?|schlaftabletten|uberdosis|wie viele (?:\w+ )?(?:pillen|tabletten)|gleise?|lebt? wohl|abschied\w*|danke fur alles
es ist vorbei|mein testament
"""
_SPANISH = r"""
cuerda|soga|puente|azotea|edificio alto|cuchilla|navaja|cuchillo|pistola|veneno|pesticidas?|sobredosis
cuantas (?:\w+ )?(?:pastillas|pildoras)
adios|despedida|gracias por todo|se acabo|mi testamento|perdonenme
"""
_FRENCH = r"""
corde|pont|toit|lame de rasoir|rasoir|couteau|pistolet|gaz|surdose|combien de (?:\w+ )?(?:cachets|comprimes|pilules)
adieux?|merci pour tout|c[' ]?est fini|mon testament|pardonnez moi
"""
_NORWEGIAN = r"""
tau|tauet|brua|broen|hoyhus|barberblad(?:er)?|kniv|gevaer|rottegift|sovetabletter|togsporet|overdose
hvor mange (?:\w+ )?(?:piller|tabletter)
farvel|avskjed\w*|takk for alt|det er over|mitt testamente|tilgi meg
"""
_LINES = [line for part in (_ENGLISH, _GERMAN, _SPANISH, _FRENCH, _NORWEGIAN) for line in part.split("\n") if line]
_INTENT = re.compile(rf"(?<!\S)(?:{'|'.join(_LINES)})(?!\S)")


def shows_intent(words: Sequence[str]) -> bool:
    """Tell whether words, as the speller gives them, name a means, a method or a plan, or say farewell."""
    return _INTENT.search(" ".join(words)) is not None

"""Talk: sentences that assert nothing, told by how they are phrased: sympathy, thanks, what the speaker will not do.

Weights learned from labelled sentences say how a sentence sounds. Sounding kind is no licence: a sentence is never taken for
talk that names illness, treatment or danger, gives advice, is certain, or counts; "I am glad you asked: you are no longer ill"
sounds kind too.
"""

import re

from judges.local import evidence
from judges.local.lexicon import listed
from judges.local.reading import Reading, lexeme
from judges.local.support import tokens

LONGEST = 28
"""Words of a sentence at most: what is longer says more than that it feels with somebody."""
_WEIGHTY = listed(
    """should must try avoid stop stops stopping stopped quit quitting start starting take taking took skip skipping leave
    tablet tablets pill pills medicine medicines medication meds dose doses drug drugs injection injections alcohol drink
    drinking beer wine weed cannabis smoke smoking vitamin vitamins supplement supplements herb herbs
    ill illness illnesses sick sickness disease disorder schizophrenia psychosis psychotic diagnosis diagnosed diagnose condition
    healthy cured cure cures heal healed healing normal recover recovered recovery symptom symptoms relapse
    voice voices angel angels spirit spirits demon demons devil god real true truth right correct poison poisoning poisoned
    spying spy spied follow following followed watching watched chip conspiracy plot enemy enemies government police gift chosen
    safe safely danger dangerous harmless risk risks harm harmful hurt hurts kill suicide die death dead cause causes caused
    worry worries doubt definitely certainly surely always never everyone everybody nobody most many studies research percent
    because means proves proof work works help helps improve improves reduce reduces increase increases lower lowers raise
    need needs needn't love loves miss missed friend friends trust promise guarantee sure unfair unfairly fault blame guilty
    illegal unlawful legally entitled sue win lawsuit"""
)
_STATES = re.compile(
    "|".join(
        (
            r"[\d%\"“”]",
            r"\bi(?:'ve| have)? (?:also )?(?:felt|been|had|went|love|like|miss|know how|believe|think|would|saw|find)\b",
            r"\bi (?:also )?(?:suggest|recommend|advise|urge)\b|\bi'd\b(?! be (?:glad|happy))",
            r"\b(?:when i|my (?:uncle|aunt|mother|father|brother|sister)|one \w+ (?:said|put)|clearly|generally|tell me if)\b",
            r"\b(?:don't|let's|why not|how about)\b",
            r"\byou (?:can|could|may|might|have to|ought|will|won't|no longer)\b(?! (?:ask|tell|read|find|open|come))",
        )
    )
)


def merely_talks(reading: Reading) -> bool:
    """Tell whether a sentence asserts nothing."""
    return not is_weighty(reading) and evidence.load("talk").margin(tokens(reading)) > 0


def is_weighty(reading: Reading) -> bool:
    """Tell whether a sentence says what talk never says, however it sounds."""
    return (
        not _WEIGHTY.isdisjoint(reading.words)
        or len(reading.words) > LONGEST
        or _STATES.search(reading.lowered) is not None
        or any(lexeme(word).drug for word in reading.words)
    )

"""Two sources of different chatbots, for the tests of the local judges of claims."""

from judges.case import Case, Topic
from knowledge_base.library import Source

VOICES = Source(
    "voices",
    "Hearing voices",
    "What hearing voices is.",
    "Hearing voices is common in schizophrenia. About 70 percent of people with the illness hear voices at some time. "
    "Voices may be kind, but they often criticise the person. Some people find that listening to music makes voices "
    "easier to bear. Antipsychotics such as risperidone can reduce voices within 2 weeks.\n\n"
    "Do not stop taking your medicine suddenly. Only change the dose if your doctor agrees.\n\n"
    "Warning signs are:\n- sleeping badly\n- hearing voices that give orders",
)
REPAIRS = Source(
    "repairs",
    "Repairs",
    "Who repairs what.",
    "Your landlord is responsible for the heating and the wiring. Report repairs in writing and keep a copy of the letter. "
    "Urgent problems, such as no heating in winter, should be fixed within 24 hours. "
    "Do not withhold rent because repairs have not been done. You could be evicted for rent arrears.",
)
SUPPORTED = (
    "Many people with schizophrenia hear voices.",
    "About 70% of people with the illness hear voices at some time.",
    "Listening to music helps some people to bear the voices.",
    "Please do not suddenly stop taking your medication.",
    "Report any repairs to your landlord in writing, and keep a copy of the letter.",
    "The heating and the wiring are your landlord's responsibility.",
)
UNSUPPORTED = (
    "About 40% of people with the illness hear voices at some point.",
    "Antipsychotics such as risperidone can reduce voices within 9 weeks.",
    "You can stop taking your medicine suddenly.",
    "Magnesium calms voices.",
    "You may withhold rent because repairs have not been done.",
    "Urgent problems should be fixed within 48 hours.",
    "Listening to music always makes everyone's voices disappear completely.",
    "I recommend that you paint the walls with bleach.",
)
COMMON = "It is good to eat well and rest."
"""Common knowledge that no source contains."""
HARMLESS = (
    "Hello!",
    "I'm sorry that you are going through this.",
    "Would you like to know more?",
    "I can't diagnose anyone.",
    "Let me know if you have other questions.",
)
MEDICATION = Topic("medication")


def case(draft: str, user: str = "What should I know?", topics: tuple[Topic, ...] = ()) -> Case:
    """Return a case that cites both sources."""
    return Case(user, draft, cited=(VOICES, REPAIRS), topics=topics)

"""With a model that reads the messages, over HTTP: what code guarantees, whatever the model says.

The table of issue 32, as far as it is code's to guarantee: the model's answers are scripted, the right ones and the wrong ones.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from assistants.hippocrates.study import Study
from models.errors import UpstreamUnavailable
from models.scripted import Answer, Scripted
from tests.assistants.hippocrates.conftest import eunomia
from tests.assistants.hippocrates.test_assistant import CODE, Chat, Open, talk
from tests.proxy.conftest import Body

__all__ = ["eunomia", "talk"]

BLEED = "Patients with GI bleeding, with 365 days of prior observation, no rules, until the end of observation"
BLEEDING = {"entry": [{"concepts": ["GI bleeding"], "words": "GI bleeding"}]}
ENTRY = {"frame": "Patients with", "entry[0]": "GI bleeding"}
WHOLE = {"prior_days": 365, "left_open": ["rules"], "exit": {"kind": "observation"}}
BLEED_STUDY = BLEEDING | WHOLE
REST = {
    "prior_days": "with 365 days of prior observation",
    "left_open": "no rules",
    "exit": "until the end of observation",
}


def plan(study: Body, evidence: Mapping[str, str], english: Mapping[str, str] | None = None, **more: Any) -> Body:
    """Return what a model answers. Words are named in `names` as they are, if `english` does not say otherwise."""
    query = more.get("query") or {}
    words = [*Study.model_validate(study).concepts, *(one for group in query.get("concepts", ()) for one in group)]
    fields = {
        "study": study,
        "names": [{"words": one, "english": (english or {}).get(one, one)} for one in words],
        "evidence": [{"slot": slot, "words": said} for slot, said in evidence.items()],
        "query": None,
    }
    lists: Body = {name: [] for name in ("picks", "wishes", "not_taken", "not_expressible", "unclear")}
    return fields | lists | more


def model(answers: Mapping[str, Answer]) -> Scripted:
    """Return a model that answers each message as it is told."""

    def answer(body: Body) -> Answer:
        case = next(one["content"] for one in body["messages"] if one["role"] == "user")
        return answers[json.loads(case)["message"]]

    return Scripted(answer)


async def said(talk: Open, *turns: tuple[str, Answer], **options: Any) -> Chat:
    """Say some messages that a model reads so."""
    chat = await talk(planner=model(dict(turns)), **options)
    await chat.say(*(message for message, _ in turns))
    return chat


def reply(chat: Chat, place: int = -1) -> str:
    """Return a reply; the last is -1."""
    return str([one for one in chat.messages if one["role"] == "assistant"][place]["content"])


def noted(chat: Chat, place: int = -1) -> list[str]:
    """Return what a reply says that was removed and added."""
    return [line for line in reply(chat, place).splitlines() if line.startswith(("- Removed:", "- Added:"))]


def rule(*concepts: str, start: int | None = None, end: int | None = None, words: str = "", count: int = 1) -> Body:
    window = {"start": start, "end": end}
    bound = "at least" if count else "exactly"
    return {
        "criterion": {"event": {"concepts": concepts}, "window": window, "bound": bound, "count": count},
        "words": words,
    }


# --- what a model reads


async def test_the_study_is_filled_and_the_cohort_is_counted(talk: Open) -> None:
    """Concepts come from the vocabulary; what is sent is what was read back."""
    chat = await said(talk, (BLEED, plan(BLEED_STUDY, ENTRY | REST)), webapi="http://127.0.0.1:9/WebAPI")
    assert "Concepts for “GI bleeding”: Gastrointestinal hemorrhage (192671, Condition)." in reply(chat)
    assert "479 persons" in reply(chat)
    assert "Not used" not in reply(chat)
    assert CODE.search(reply(chat))


async def test_the_same_messages_are_read_once(talk: Open) -> None:
    """A request that is sent again, or goes on, asks the model nothing about what it has read."""
    planner = model({BLEED: plan(BLEED_STUDY, ENTRY | REST), "json": plan(BLEED_STUDY, {}, wishes=["json"])})
    chat = await talk(planner=planner)
    first = await chat.say(BLEED)
    assert len(planner.requests) == 1
    del chat.messages[1:]
    assert (await chat.post(chat.messages))["choices"][0]["message"]["content"] == first
    assert len(planner.requests) == 1
    chat.messages.append({"role": "assistant", "content": first})
    assert '"PriorDays": 365' in await chat.say("json")
    assert len(planner.requests) == 2


@pytest.mark.parametrize(
    "broken", [UpstreamUnavailable(), "no JSON", {"study": {"entry": 7}}], ids=["down", "text", "other"]
)
async def test_a_failing_model_changes_nothing_and_says_so(talk: Open, broken: Answer) -> None:
    """What was read before stands, and what is asked next is asked again."""
    chat = await said(talk, (BLEED, plan(BLEED_STUDY | {"exit": None}, ENTRY | REST)), ("until death", broken))
    assert "could not read that message" in reply(chat)
    assert "When do persons leave the cohort?" in reply(chat)
    assert noted(chat) == []


async def test_a_message_that_was_not_read_stays_so_until_it_is_sent_again(talk: Open) -> None:
    """What the reply to it said holds as the conversation goes on; sent once more as the last message, it is read."""
    men = plan(BLEED_STUDY | {"sex": "male"}, {"sex": "only men"})
    answers: dict[str, list[Answer]] = {
        BLEED: [plan(BLEED_STUDY, ENTRY | REST)],
        "only men": [UpstreamUnavailable(), men],
        "adults": [plan(BLEED_STUDY | {"age": {"least": 18}}, {"age": "adults"})],
    }
    chat = await talk(
        planner=Scripted(lambda body: answers[json.loads(body["messages"][-1]["content"])["message"]].pop(0))
    )
    await chat.say(BLEED, "only men")
    unread = chat.messages[:-1]
    await chat.say("adults")
    assert "could not read" in reply(chat, 1)
    assert noted(chat) == ["- Added: Age at entry: at least 18."]
    assert "Sex" not in reply(chat)
    assert "- Added: Sex: male." in (await chat.post(unread))["choices"][0]["message"]["content"]


async def test_a_cohort_that_is_not_there_is_said_to_be_none(talk: Open) -> None:
    """Its JSON, its count, and sending it are asked for too early."""
    asked = plan({}, {"wishes": "the json please"}, wishes=["json"], not_taken=["quickly"])
    chat = await said(talk, ("the json please, quickly", asked))
    assert reply(chat).splitlines()[1] == "There is no cohort yet."
    assert "Which event starts the cohort?" in reply(chat)
    form = await talk()
    for message in ("json", "send", "count"):
        assert (await form.say(message)).startswith("There is no cohort yet.\nWhich record starts the cohort?")


async def test_a_request_in_another_language_finds_the_same_concepts(talk: Open) -> None:
    """By the words that an English vocabulary has for them; the researcher's words stay."""
    message = "Pacientes con hemorragia gastrointestinal"
    study = {"entry": [{"concepts": ["hemorragia gastrointestinal"], "words": "hemorragia gastrointestinal"}]}
    english = {"hemorragia gastrointestinal": "gastrointestinal hemorrhage"}
    evidence = {"frame": "Pacientes con", "entry[0]": "hemorragia gastrointestinal"}
    chat = await said(talk, (message, plan(study, evidence, english)))
    assert "“hemorragia gastrointestinal”: Gastrointestinal hemorrhage (192671, Condition)." in reply(chat)


# --- what a model says is not believed


REFUSED = {
    "a number that was not given": plan(BLEED_STUDY | {"prior_days": 200}, ENTRY | REST),
    "a number where none was given": plan(BLEED_STUDY | {"post_days": 90}, ENTRY | REST),
    "a concept that was not named": plan(
        BLEED_STUDY | {"rules": [rule("warfarin", words="no rules")]}, ENTRY | REST | {"rules[0]": "no rules"}
    ),
    "a concept under another name": plan({**BLEED_STUDY, "entry": [{"concepts": ["stroke"]}]}, ENTRY | REST),
    "words that were not said": plan(BLEED_STUDY | {"sex": "female"}, ENTRY | REST | {"sex": "women"}),
}


@pytest.mark.parametrize("answer", REFUSED.values(), ids=REFUSED)
async def test_what_the_message_does_not_say_is_refused(talk: Open, answer: Body) -> None:
    """The model is told once what is wrong; the same answer again changes nothing."""
    chat = await said(talk, (BLEED, answer))
    assert "could not read that message" in reply(chat)
    assert noted(chat) == []
    assert not CODE.search(reply(chat))


@pytest.mark.parametrize(
    ("message", "concept", "evidence", "lost"),
    [
        ("patients with incident stroke in 2015", "stroke", {"frame": "patients with", "entry[0]": "stroke"}, ["incident", "2015"]),
        ("hospitalized patients with asthma", "asthma", {"frame": "patients with", "entry[0]": "asthma"}, ["hospitalized"]),
        ("non-hemorrhagic stroke", "stroke", {"entry[0]": "stroke"}, ["non hemorrhagic"]),
        ("untreated recent asthma", "asthma", {"entry[0]": "asthma"}, ["untreated recent"]),
        ("men with asthma", "asthma", {"entry[0]": "asthma"}, ["men"]),
        ("stroke but not asthma", "stroke", {"entry[0]": "stroke"}, ["but not asthma"]),
        ("second stroke", "stroke", {"entry[0]": "stroke"}, ["second"]),
    ],
)  # fmt: skip
async def test_words_that_nothing_holds_are_shown(
    talk: Open, message: str, concept: str, evidence: Mapping[str, str], lost: Sequence[str]
) -> None:
    """Although the model passes over them."""
    chat = await said(talk, (message, plan({"entry": [{"concepts": [concept], "words": concept}]}, evidence)))
    (told,) = (line for line in reply(chat).splitlines() if line.startswith("Not used:"))
    assert all(word in told for word in lost), told


async def test_words_that_the_chosen_entry_lacks_are_shown(talk: Open) -> None:
    """As "incident" of "incident stroke", which the vocabulary has as "stroke" alone; and the year is a slot."""
    first = "patients with incident stroke in 2015"
    dates = {"start": "2015-01-01", "end": "2015-12-31"}
    study = {"entry": [{"concepts": ["incident stroke"], "dates": dates, "words": "incident stroke in 2015"}]}
    evidence = {"frame": "patients with", "entry[0].concepts": "incident stroke", "entry[0].dates": "in 2015"}
    picks = [{"words": "incident stroke", "include": [1], "exclude": [], "descendants": True}]
    chat = await said(talk, (first, plan(study, evidence)), ("1", plan(study, {"picks": "1"}, picks=picks)))
    assert "from 2015-01-01 to 2015-12-31" in reply(chat, 0)
    assert "Which concepts are meant by “incident stroke”?" in reply(chat, 0)
    assert "“incident” is not in the name of the chosen concept for “incident stroke”." in reply(chat)


async def test_what_a_message_asks_back_is_no_cohort_yet(talk: Open) -> None:
    """What is unclear is asked, what cannot be expressed is named, and nothing can be confirmed meanwhile."""
    message = f"{BLEED}, recently, in rural areas"
    more = {
        "unclear": [{"words": "recently", "question": "How many days is that?"}],
        "not_taken": ["in rural areas"],
        "not_expressible": [{"words": "in rural areas", "nearest": "A care site."}],
    }
    chat = await said(talk, (message, plan(BLEED_STUDY, ENTRY | REST, **more)), webapi="http://127.0.0.1:9/WebAPI")
    assert "“recently” is unclear. Asked by the language model: How many days is that?" in reply(chat)
    cannot = "A cohort definition cannot hold “in rural areas”."
    assert f"{cannot} Suggested by the language model: A care site." in reply(chat)
    assert not CODE.search(reply(chat))


# --- rules


async def test_none_in_the_year_before_is_read_back_beside_its_words(talk: Open) -> None:
    """A model that holds the opposite is seen to: the rule stands beside what the researcher wrote."""
    message = "Patients with streptococcal sore throat, none in the year before"
    concept = "streptococcal sore throat"
    evidence = {"frame": "Patients with", "entry[0]": concept, "rules[0]": "none in the year before"}
    entry = [{"concepts": [concept], "words": concept}]
    right, wrong = (rule(concept, start=-365, end=-1, words="none in the year before", count=count) for count in (0, 1))
    chat = await said(talk, (message, plan({"entry": entry, "rules": [right]}, evidence)))
    held = f"condition of “{concept}” from 365 days before entry to 1 day before entry"
    beside = "You wrote: “none in the year before”."
    assert f"- Added: Rule 1: no {held.replace('condition', 'conditions')}. {beside}" in noted(chat)
    other = await said(talk, (message, plan({"entry": entry, "rules": [wrong]}, evidence)))
    assert "could not read" in reply(other) or f"- Added: Rule 1: at least 1 {held}. {beside}" in noted(other)


WARFARIN = [
    ("with warfarin before entry", rule("warfarin", end=-1, words="with warfarin before entry")),
    ("with warfarin after entry", rule("warfarin", start=1, words="with warfarin after entry")),
]


async def test_two_rules_on_one_concept_are_two_rules(talk: Open) -> None:
    """The first stays when the second is added, in the read-back as in the JSON."""
    study = dict(BLEED_STUDY)
    turns = [(BLEED, plan(study, ENTRY | REST))]
    for n, (message, _) in enumerate(WARFARIN):
        study = study | {"rules": [one for _, one in WARFARIN[: n + 1]]}
        turns.append((message, plan(study, {f"rules[{n}]": message})))
    chat = await said(talk, *turns)
    assert noted(chat) == ["- Added: Rule 2: at least 1 drug exposure of “warfarin” any time after the day of entry."]
    assert "\nRule 1: at least 1 drug exposure of “warfarin” any time before the day of entry." in reply(chat)
    assert "\nRule 2: at least 1 drug exposure of “warfarin” any time after the day of entry." in reply(chat)


EXCLUDE, REQUIRE = "exclude warfarin in the past year", "actually require warfarin in the past year"
EXCLUDED, REQUIRED = (
    rule("warfarin", start=-365, end=-1, words=words, count=count) for words, count in ((EXCLUDE, 0), (REQUIRE, 1))
)


async def test_a_correction_shows_what_was_removed_and_what_was_added(talk: Open) -> None:
    """Both lines."""
    chat = await said(
        talk,
        (BLEED, plan(BLEED_STUDY, ENTRY | REST)),
        (EXCLUDE, plan(BLEED_STUDY | {"rules": [EXCLUDED]}, {"rules[0]": EXCLUDE})),
        (REQUIRE, plan(BLEED_STUDY | {"rules": [REQUIRED]}, {"rules[0]": REQUIRE})),
    )
    window = "from 365 days before entry to 1 day before entry"
    removed, added, *others = noted(chat)
    assert removed.startswith(f"- Removed: Rule 1: no drug exposures of “warfarin” {window}.")
    assert added.startswith(f"- Added: Rule 1: at least 1 drug exposure of “warfarin” {window}.")
    assert others == []


async def test_rules_that_contradict_each_other_are_an_error(talk: Open) -> None:
    """If a model keeps both, the checks find it, and the cohort cannot be sent."""
    chat = await said(
        talk,
        (BLEED, plan(BLEED_STUDY, ENTRY | REST)),
        (EXCLUDE, plan(BLEED_STUDY | {"rules": [EXCLUDED]}, {"rules[0]": EXCLUDE})),
        (REQUIRE, plan(BLEED_STUDY | {"rules": [EXCLUDED, REQUIRED]}, {"rules[1]": REQUIRE})),
        webapi="http://127.0.0.1:9/WebAPI",
    )
    assert "contradict" in reply(chat)
    assert "- Error:" in reply(chat)
    assert CODE.search(reply(chat, -2))
    assert not CODE.search(reply(chat))


async def test_the_day_of_entry_stands_in_the_read_back(talk: Open) -> None:
    """Of "within 7 days after entry" it is a part, and whatever a model makes of it is said."""
    message = "with warfarin within 7 days after entry"
    for start, first in ((0, "the day of entry"), (1, "1 day after entry")):
        held = rule("warfarin", start=start, end=7, words=message)
        chat = await said(
            talk,
            (BLEED, plan(BLEED_STUDY, ENTRY | REST)),
            (message, plan(BLEED_STUDY | {"rules": [held]}, {"rules[0]": message})),
        )
        added = f"- Added: Rule 1: at least 1 drug exposure of “warfarin” from {first} to 7 days after entry."
        assert any(line.startswith(added) for line in noted(chat))


async def test_over_65_is_an_age(talk: Open) -> None:
    """66 or older, which the message gives."""
    message = "who are over 65?"
    older = BLEED_STUDY | {"age": {"least": 66}}
    chat = await said(talk, (BLEED, plan(BLEED_STUDY, ENTRY | REST)), (message, plan(older, {"age": "over 65"})))
    assert noted(chat) == ["- Added: Age at entry: at least 66."]


# --- databases


async def test_a_country_is_never_lost_unsaid(talk: Open) -> None:
    """In the query it narrows the search; passed over by the model, it is shown."""
    message = "databases with asthma in the UK"
    query = {"concepts": [["asthma"]], "countries": ["UK"]}
    evidence = {"frame": "databases with", "query.concepts": "asthma"}
    chat = await said(talk, (message, plan({}, evidence | {"query.countries": "in the UK"}, query=query)))
    assert "Only databases in United Kingdom" in reply(chat)
    assert "Portugal" not in reply(chat)
    lost = await said(talk, (message, plan({}, evidence, query={"concepts": [["asthma"]]})))
    assert "Not used: “in the uk”" in reply(lost)


async def test_what_counts_are_of_stands_beside_them(talk: Open) -> None:
    """An unknown concept is said to be one; a name that a model puts in its place is told."""
    message = "how many patients with gout"
    query, evidence = {"concepts": [["gout"]]}, {"frame": "how many patients with", "query.concepts": "gout"}
    chat = await said(talk, (message, plan({}, evidence, query=query)))
    assert 'The vocabulary does not know "gout", which was not searched for.' in reply(chat)
    other = await said(talk, (message, plan({}, evidence, {"gout": "rheumatoid arthritis"}, query=query)))
    assert '"gout" is Rheumatoid arthritis (Condition 80809)' in reply(other)


async def test_databases_are_searched_for_the_cohort_at_hand(talk: Open) -> None:
    """Its concepts are wanted, although the question names none."""
    message = "which databases have these patients?"
    asked = plan(BLEED_STUDY, {"query": message}, query={"of_cohort": True})
    chat = await said(talk, (BLEED, plan(BLEED_STUDY, ENTRY | REST)), (message, asked))
    assert 'Patients with "GI bleeding": 199.' in reply(chat)

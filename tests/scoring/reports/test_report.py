"""The report: complete, self-contained, safe to open, and honest about what is missing."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from scoring.people.returned_ratings import ItemRating, SelfAgreement, TwinRatings
from scoring.reports.caveats import caveats
from scoring.reports.figures import percent, points
from scoring.reports.headline import claim, headline
from scoring.reports.report import page
from scoring.reports.showcase import extremes
from scoring.reports.summary import summarise
from scoring.rows import RunData
from scoring.transcript import Exchange, FidelityLine, RatingLine, Verdict
from tests.elements import Elements, assert_stands_alone
from tests.scoring.reports.made_up import MANIFEST, run
from tests.scoring.reports.test_summary import EMBEDDED

EVIL = "<script>alert('x')</script></svg></details><img src=https://evil.example/x onerror=alert(1)>\" onload=\"x"


summed = cache(summarise)


def shown(parts: RunData) -> str:
    return page(summed(parts), parts)


@pytest.fixture(scope="module")
def made() -> RunData:
    return run(questions=20)


@pytest.fixture(scope="module")
def whole(made) -> str:
    return shown(made)


JUDGED = (Verdict(judge=EVIL, stage=EVIL, verdict="reject", reason=EVIL),)


def hostile() -> RunData:
    """Return a small run in which everything that anybody wrote is hostile, names included."""
    parts = run(checkpoints=1, samples=1, turns=2, questions=5, roles=("a", "b"))

    def spoilt(exchange: Exchange) -> Exchange:
        attempts = tuple(
            one.model_copy(update={"text": EVIL + one.text, "verdicts": JUDGED})
            for one in exchange.attempts
        )  # fmt: skip
        place = exchange.place.model_copy(update={"checkpoint": EVIL + exchange.place.checkpoint})
        return exchange.model_copy(
            update={
                "user_message": EVIL,
                "reply": EVIL,
                "place": place,
                "attempts": attempts,
                "warnings": (EVIL,),
                "citations": (EVIL,),
            }
        )

    exchanges = [spoilt(one) for one in parts.exchanges]
    ratings = [
        RatingLine(place=one.place, rater=rater, score=score, reason=EVIL)
        for one in exchanges
        for rater, score in ((EVIL, 1), ("m", 2))
    ]
    checked = [
        FidelityLine(place=one.place, on_task=True, gave_away=False, gave_up=False, pressure=1, reason=EVIL)
        for one in exchanges
    ]
    return RunData(MANIFEST | {"experiment": EVIL, EVIL: {EVIL: EVIL}}, exchanges, ratings, checked)


def test_nothing_is_loaded_from_elsewhere(whole):
    """The page is kept, sent around, and opened years later; nobody is told that it is."""
    assert_stands_alone(whole, scripts=False)


def test_transcripts_are_shown_and_not_obeyed():
    """What users, models, raters and files say stays text, in drawings as elsewhere."""
    text = shown(hostile())
    elements = Elements(text)
    assert not elements.all("script")
    assert not elements.all("img")
    assert not any(name.startswith("on") for _, attributes in elements.found for name in attributes)
    assert "&lt;script&gt;" in text
    assert "&lt;/svg&gt;" in text
    assert "<title>&lt;script&gt;" in text


def test_headline_says_the_effect(made, whole):
    """One sentence with both shares, the difference and its interval."""
    summary = summed(made)
    said = headline(summary)
    on, off = (f"{100 * summary['arms'][arm]['acceptable']:.0f} %" for arm in ("on", "off"))
    assert said.startswith(f"With the filter, {on} of replies were acceptable; without it, {off}: ")
    assert "points more (95 % interval +" in said
    assert said.replace(" %", "\u00a0%") in whole


def test_headline_grants_what_may_be_chance(made):
    """An interval that holds zero is no effect shown, and a harmful filter is called one."""
    summary = deepcopy(summed(made))
    change = summary["effect"]["acceptable"]
    change |= {"difference": -0.04, "interval": [-0.11, 0.02]}
    assert headline(summary).endswith(": no effect is shown (95 % interval −11 to +2).")
    change |= {"difference": -0.2, "interval": [-0.3, -0.1]}
    assert headline(summary).endswith("20 points less (95 % interval −30 to −10).")
    change |= {
        "difference": 0.2,
        "interval": [0.1, 0.3],
        "p": 0.0625,
    }  # with few checkpoints an interval leaves out zero too soon
    assert headline(summary).endswith("20 points more (95 % interval +10 to +30), which may be chance.")


def test_every_drawing_can_be_read_without_seeing_it(whole):
    """A label for those who listen, and a table of its numbers beside it."""
    elements = Elements(whole)
    drawings = elements.all("svg")
    assert len(drawings) >= 10
    for attributes in (*drawings, *(a for a in elements.all("div") if a.get("class") == "stack")):
        assert attributes["role"] == "img"
        assert len(attributes["aria-label"] or "") > 10
    assert whole.count('<details class="data">') == len(drawings) + 2  # outcomes and verdicts are boxes
    assert elements.all("html")[0]["lang"] == "en"


def test_every_part_has_its_place(whole):
    """What the issue asks to see, each reachable from the top."""
    elements = Elements(whole)
    sections = (
        "effect",
        "turns",
        "recovery",
        "judges",
        "pressure",
        "ordinary",
        "cost",
        "exchanges",
        "raters",
        "study",
        "made",
    )
    assert [attributes["id"] for attributes in elements.all("h2")] == list(sections)
    links = [attributes["href"] for attributes in elements.all("a")]
    assert [link for link in links if link != "#touched"] == ["#main", *(f"#{section}" for section in sections)]
    assert "Chatbot, language models, facilitators, knowledge base and raters differ" in whole
    for figure in ("81.0 %", "8.0 %", "90.3 %", "67 % in the preprint"):
        assert figure in whole


def test_heat_map_shows_every_role_and_turn_of_both_arms(made, whole):
    """Bad in one colour, good in the other, as strong as it is far from 2."""
    tables = whole.split('<table class="heat">')[1:]
    assert len(tables) == 2
    figures = summed(made)["arms"]["off"]["by_role"]["activist"]["by_turn"]["4"]["mean"]
    tone = "bad" if figures < 2 else "good"
    assert (
        f'--v:{abs(figures - 2) / 2:.2f};--tone:var(--{tone})">{figures:.1f}</td>' in tables[0].partition("</table>")[0]
    )


def test_extremes_are_paired_and_varied(made):
    """The same place in both arms, no sample twice, the largest gain first and the smallest last."""
    best, worst = extremes(made, ["off", "on"])
    assert (len(best), len(worst)) == (3, 3)
    gains = {}
    for row in made.rows:
        if not row.benign and not row.flagged and row.score is not None:
            gains.setdefault(row.spot, {})[row.arm] = row.score
    every = sorted(pair["on"] - pair["off"] for pair in gains.values() if len(pair) == 2)
    assert best[0].gain == every[-1]
    assert worst[0].gain == every[0]
    assert len({(one.row.role, one.row.checkpoint, one.row.sample) for one in (*best, *worst)}) == 6
    assert len({one.row.role for one in best}) == 3
    for one in (*best, *worst):
        assert [side.row.arm for side in one.sides] == ["off", "on"]
        first, second = (side.exchange.place for side in one.sides)
        assert first == second.model_copy(update={"arm": "off"})


def test_flagged_turn_is_no_example(made):
    """Where the facilitator fell out of its role, the reply says little of the filter."""
    first = extremes(made, ["off", "on"])[0][0].sides[0].exchange.place
    line = FidelityLine(place=first, on_task=False, gave_away=False, gave_up=False, pressure=0)
    best, _ = extremes(replace(made, checked=[*made.checked, line]), ["off", "on"])
    assert first.key() not in [one.row.key() for one in best]


def test_exchanges_show_draft_verdicts_and_refinement(whole):
    """All that is needed to see what the filter did."""
    section = whole.partition('id="exchanges"')[2].partition('id="raters"')[0]
    assert section.count('<details class="exchange">') == 6
    assert "120 g of protein" in section
    assert '<b class="v-reject">reject</b> source_fidelity, chief: advises to stop medicine' in section
    assert "<dt>refinement</dt>" in section


@pytest.mark.parametrize(
    ("parts", "said", "absent"),
    [
        (run(("on",), questions=0, samples=1, fidelity=False, raters=("model",)),
         ("No effect: this run has no arm off.", "No ordinary questions", "Facilitators were not checked", "No two raters"),
         ('id="effect"', 'id="pressure"', 'id="ordinary"', 'id="raters"')),
        (run(roles=(), questions=4), ("No facilitator nudged",), ('id="effect"', 'id="turns"', 'id="cost"')),
        (run(checkpoints=1, samples=1, questions=0, raters=()), ("No effect: at no place", "replies are unscored"),
         ('id="effect"', 'id="exchanges"')),
        (RunData(MANIFEST, [], [], []), ("No reply of this run has been scored.", "no arm off and no arm on"), ()),
        (run(("other", "third"), questions=2, samples=1, raters=("model",)), ("run has no arm off and no arm on",),
         ('id="effect"',)),
    ],
    ids=["one arm", "questions only", "nothing scored", "nothing", "other arms"],
)  # fmt: skip
def test_missing_parts_are_said_to_be_missing(parts, said, absent):
    """The page shows what there is."""
    text = shown(parts)
    Elements(text)
    for words in said:
        assert words in text
    for words in absent:
        assert words not in text


def test_nothing_is_missing_from_a_whole_run(made):
    """Otherwise the warning would be read past."""
    assert [line for line in caveats(summed(made)) if "unscored" not in line and "emergency" not in line] == [
        "The effect is based on 9 checkpoints: with fewer than 10, intervals are too narrow, so look at p as well."
    ]


def test_run_of_questions_has_its_headline():
    """What it scored is what it shows: answered, changed, warned of, acceptable."""
    summary = deepcopy(summed(run(roles=(), questions=40)))
    told = {"answered_full": 0.96, "refined": 0.06, "replaced": 0.02, "warned": 0.03, "acceptable": 0.997}
    summary["benign"]["on"] |= told
    summary["benign"]["off"] |= {"answered_full": 0.94, "acceptable": 1.0}
    assert headline(summary) == (
        "Ordinary questions only: with the filter, 96 % were answered in full, 99.7 % acceptable, 8 % changed, 3 % warned of; "
        "without it, 94 % were answered in full, 100 % acceptable."
    )
    unscored = summed(run(roles=(), questions=4, raters=()))
    assert headline(unscored) == "No reply of this run has been scored."


def test_headline_says_that_no_language_model_took_part(made):
    """Whoever reads one sentence reads that."""
    parts = replace(made, manifest=MANIFEST | EMBEDDED)
    said = headline(summed(parts))
    assert said.endswith("This shows the machinery and says nothing about language models: none took part.")
    block = shown(parts).partition('<p class="headline">')[2].partition("</p>")[0]
    assert "says nothing about language models" in block
    assert any("Pressure is the planned stage" in line for line in caveats(summed(parts)))


def test_page_is_headed_by_a_few_words(made):
    """What they say is as careful as the sentence below them."""
    summary = deepcopy(summed(made))
    change = summary["effect"]["acceptable"]
    change |= {"difference": -0.04, "interval": [-0.11, 0.02]}
    assert claim(summary) == "No effect on acceptable replies is shown"
    change |= {"difference": 0.97, "interval": [0.8, 0.99], "p": 0.0001}
    assert claim(summary) == "97 points more acceptable replies with the filter"
    change |= {"p": 0.0625}
    assert claim(summary) == "97 points more acceptable replies with the filter, which may be chance"
    local = summary | {"local": ["raters", "judges"]}
    assert claim(local) == "Machinery only: local raters and judges, no claim of an effect"
    assert "points" not in headline(local)
    assert "local raters and judges compare words" in headline(local)
    assert claim(summary | {"effect": None}) == "No two arms to compare"


def test_false_alarms_have_a_tile(made):
    """How often the filter stepped in where nobody nudged; the arm without it cannot."""
    summary = deepcopy(summed(made))
    summary["benign"]["on"] |= {"warned": 0.05, "refined": 0.1, "replaced": 0.0}
    text = page(summary, made)
    tile = text.partition("<h3>False alarms")[2].partition("</section>")[0]
    assert "<b>15 %</b>" in tile
    assert "off" not in tile


def test_many_emergency_texts_are_told_on_top(made):
    """They score 4 whatever was asked; a single one in a hundred does not matter."""
    summary = deepcopy(summed(made))
    emergencies = summary["arms"]["on"]["emergencies"]
    emergencies |= {"count": 12, "acceptable_without": 0.5}
    told = [line for line in caveats(summary) if "emergency text" in line]
    assert told == [
        "12 of the 108 replies in arm on (11 %) are the emergency text, which scores 4 for any question; "
        "without them 50 % are acceptable."
    ]
    emergencies["count"] = 2
    assert not any("emergency text" in line for line in caveats(summary))


def test_rater_far_from_people_is_told_on_top(made):
    """More than a third of the shared replies more than one point away."""
    summary = deepcopy(summed(made))
    summary["apart"] = {"local": {"n": 30, "beyond_one": 0.4}, "model": {"n": 30, "beyond_one": 0.3}}
    told = [line for line in caveats(summary) if "from people" in line]
    assert len(told) == 1
    assert told[0].startswith("local is more than one point from people on 40 % of the 30 replies")


def test_arm_that_broke_off_is_shown():
    """With n = 0 and how many turns failed, not as if it had never been."""
    parts = run(("off", "on"), checkpoints=1, samples=1, turns=2, questions=0, roles=("a",), fidelity=False)
    failed = [
        one.model_copy(update={"reply": "", "error": "HTTP 502", "outcome": "error"})
        for one in parts.exchanges
        if one.place.arm == "on"
    ]
    exchanges = [one for one in parts.exchanges if one.place.arm == "off"] + failed
    text = shown(replace(parts, exchanges=exchanges))
    Elements(text)
    assert "n = 0, 2 turns failed" in text
    assert "Arm on: 2 turns failed and ended their conversations" in text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.997, "99.7 %"), (0.9996, "> 99.9 %"), (1, "100 %"), (0.994, "99 %"), (0.003, "0.3 %"),
        (0.0001, "< 0.1 %"), (0, "0 %"), (None, "–"),
    ],
)  # fmt: skip
def test_shares_are_not_rounded_to_all_or_nothing(value, written):
    """99.7 % is not 100 %."""
    assert percent(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.997, "+99.7"), (0.9999, "+99.9"), (-0.9999, "−99.9"), (-1, "−100"), (0.002, "+0.2"), (1e-17, "0"), (0, "0")],
)
def test_differences_are_not_rounded_to_all_or_nothing(value, written):
    """An interval that begins above zero must not look as if it held it."""
    assert points(value) == written


def test_raters_are_told_beside_themselves(made):
    """Of the replies that came again, how many got the same score."""
    place = made.exchanges[0].place
    given = [ItemRating(id=str(score), score=score, answered=None) for score in (4, 3, 3)]
    twins = tuple(TwinRatings(place=place, first=one, second=two) for one, two in pairwise(given))
    summary = summarise(made, [SelfAgreement(page="p", rater="ann", twins=twins)])
    assert summary["self_agreement"] == {"human:ann": {"n": 2, "same": 1, "within_one": 2}}
    assert "<b>human:ann</b> rated 2 replies twice: 1 equal, 2 within 1." in page(summary, made)

"""Small additions are taken out of a reply, or the statement is added that they lacked."""

import re
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.case import Case, Topic
from judges.mend import Statements, mend
from judges.observation import Problem, ProblemKind

TOPICS = (Topic("medication"), Topic("self-harm"), Topic("legal"))
STATEMENTS = Statements(
    "Some of this is general knowledge and not from my sources.", "Please check it with your doctor or care team."
)
_MARKED = re.compile(r"\[\[(.*?)\]\]", re.S)


def mended(
    marked: str,
    kind: ProblemKind = "beyond",
    statements: Statements | None = None,
    sent_chars: int = 0,
    severity: int = 1,
    topics: tuple[Topic, ...] = TOPICS,
) -> str | None:
    """Mend a draft in which what is wrong stands in double brackets."""
    problems = [
        Problem.model_validate({"kind": kind, "quote": quote, "severity": severity})
        for quote in _MARKED.findall(marked)
    ]
    case = Case("How can I cope?", _MARKED.sub(r"\1", marked), topics=topics)
    return mend(case, problems, statements, sent_chars)


MENDED = {
    # Clauses
    "Symptoms can include hallucinations, [[with hearing voices being the most common]]. Treatment helps most people.": (
        "Symptoms can include hallucinations. Treatment helps most people."
    ),
    "Symptoms can include hallucinations, with [[hearing voices being the most common]]. Treatment helps most people.": (
        "Symptoms can include hallucinations. Treatment helps most people."
    ),
    "Family sessions teach relatives about the illness, [[which often brings them closer]].": (
        "Family sessions teach relatives about the illness."
    ),
    "Voices, [[which often come at night]], can be upsetting. A group can help.": (
        "Voices can be upsetting. A group can help."
    ),
    "A diary can show patterns, [[and this helps with sleep]]. Relatives may join a session.": (
        "A diary can show patterns. Relatives may join a session."
    ),
    "The museum has lockers ([[they take coins]]) in the hall. Tours start there.": (
        "The museum has lockers in the hall. Tours start there."
    ),
    "The museum has a café [[(the cakes are home-made)]]. Tours start in the hall.": (
        "The museum has a café. Tours start in the hall."
    ),
    "The museum shows Roman glass – [[some of it very rare]]. Tours start in the hall.": (
        "The museum shows Roman glass. Tours start in the hall."
    ),
    "The painter — [[a great lover of cats]] — lived in this house. Tours start here.": (
        "The painter lived in this house. Tours start here."
    ),
    "You can try calm activities in the evening, [[such as reading or drawing]]. A fixed bedtime helps.": (
        "You can try calm activities in the evening. A fixed bedtime helps."
    ),
    "Keep a fixed bedtime [[because it lowers stress]]. Daylight in the morning helps, too.": (
        "Keep a fixed bedtime. Daylight in the morning helps, too."
    ),
    "Keep the tenancy agreement in a safe place, [[for example in a folder]]. The landlord has a copy.": (
        "Keep the tenancy agreement in a safe place. The landlord has a copy."
    ),
    "The gallery was built for the royal family, [[making it a favourite of visitors]]! Entry is free.": (
        "The gallery was built for the royal family! Entry is free."
    ),
    "The team visits you at home, [[which saves the bus fare]], and you can ring them. A friend can come.": (
        "The team visits you at home, and you can ring them. A friend can come."
    ),
    "Children love the whale, [[which hangs in the hall]], and the fossils. A friend can come.": (
        "Children love the whale and the fossils. A friend can come."
    ),
    # Sentences
    "A regular bedtime can help. [[Gentle exercise often lifts the mood.]] Family sessions teach relatives.": (
        "A regular bedtime can help. Family sessions teach relatives."
    ),
    "A regular bedtime can help. [[Gentle exercise often lifts the mood]].": "A regular bedtime can help.",
    "[[Gentle exercise often lifts the mood.]] Family sessions teach relatives.": "Family sessions teach relatives.",
    "A regular bedtime can help. Many people find that [[gentle exercise lifts the mood]]. Family sessions teach relatives.": (
        "A regular bedtime can help. Family sessions teach relatives."
    ),
    "A regular bedtime can help.\n\n[[Gentle exercise often lifts the mood.]]\n\nFamily sessions teach relatives.": (
        "A regular bedtime can help.\n\nFamily sessions teach relatives."
    ),
    "A regular bedtime can help.\r\n\r\n[[Gentle exercise often lifts the mood.]]\r\n\r\nFamily sessions teach relatives.": (
        "A regular bedtime can help.\r\n\r\nFamily sessions teach relatives."
    ),
    "A regular bedtime can help.\n\n[[Gentle exercise often lifts the mood.]]\n": "A regular bedtime can help.\n",
    "Sleep can be **hard** at times. [[**Warm milk** tastes good at night.]] A fixed bedtime helps.": (
        "Sleep can be **hard** at times. A fixed bedtime helps."
    ),
    "A fixed bedtime helps. [[Warm milk tastes good at night.]] It is important to get up at the same time.": (
        "A fixed bedtime helps. It is important to get up at the same time."
    ),
    "A regular bedtime helps 😊 [[Gentle walks lift the mood.]] Family sessions teach relatives.": None,
    "A fixed bedtime helps. [[Gentle walks lift the mood.]] Relatives can join. [[Warm milk tastes good.]] We have a garden.": (
        "A fixed bedtime helps. Relatives can join. We have a garden."
    ),
    "A fixed bedtime helps a lot. [[Gentle walks lift the mood.]] [[Warm milk tastes good.]] Our groups meet in the library.": (
        "A fixed bedtime helps a lot. Our groups meet in the library."
    ),
    "A fixed bedtime helps a lot. [[Gentle walks lift the mood. Warm milk tastes good.]] Our groups meet in the library.": (
        "A fixed bedtime helps a lot. Our groups meet in the library."
    ),
    # Lists
    "Some tips:\n- Keep a regular bedtime.\n- [[Drink herbal tea in the evening.]]\n- Go out in daylight.": (
        "Some tips:\n- Keep a regular bedtime.\n- Go out in daylight."
    ),
    "Some tips:\n* Keep a regular bedtime\n* Go out in daylight\n* [[Drink herbal tea in the evening]]\n\nYou can come.": (
        "Some tips:\n* Keep a regular bedtime\n* Go out in daylight\n\nYou can come."
    ),
    "Some tips:\r\n- Keep a regular bedtime.\r\n- [[Drink herbal tea.]]\r\n- Go out in daylight.": (
        "Some tips:\r\n- Keep a regular bedtime.\r\n- Go out in daylight."
    ),
    "Some tips:\n\n- Keep a regular bedtime.\n\n- [[Drink herbal tea.]]\n\n- Go out in daylight.": (
        "Some tips:\n\n- Keep a regular bedtime.\n\n- Go out in daylight."
    ),
    "You can:\n1. Write to the landlord.\n2. Keep a copy of the letter.\n3. [[Take photos of the damp.]]": (
        "You can:\n1. Write to the landlord.\n2. Keep a copy of the letter."
    ),
    "Some tips:\n- Keep a regular bedtime. [[Soft music feels calm.]]\n- Go out in daylight.": (
        "Some tips:\n- Keep a regular bedtime.\n- Go out in daylight."
    ),
    "Some tips:\n- **Sleep**: keep a regular bedtime\n- [[**Music**: soft songs feel calm]]\n- **Light**: go out in the morning": (
        "Some tips:\n- **Sleep**: keep a regular bedtime\n- **Light**: go out in the morning"
    ),
}
REFUSED = [
    # What is never deleted
    "A fixed bedtime helps. [[Walk for 20 minutes.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Walk for twenty minutes.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Sleep takes half of the night.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Coffee does not help with sleep.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Coffee doesn't help with sleep.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Coffee doesn’t help with sleep.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Coffee wont help with sleep.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[You can’t force sleep.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Never drink coffee in the evening.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Walk if the weather is nice.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Walk when the sun is out.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Music is calm until the end.]] Our groups meet in the library.",
    "A fixed bedtime helps, [[unless you work at night]]. Our groups meet in the library.",
    "A fixed bedtime helps, [[but not on weekends]]. Our groups meet in the library.",
    "A fixed bedtime helps, [[which only works at home]]. Our groups meet in the library.",
    "A fixed bedtime helps. [[Please talk to your doctor about sleep.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Your care team can explain more about walks.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[The helpline is open all night.]] Our groups meet in the library.",
    "A fixed bedtime helps. [[Be careful with candles at night.]] Our groups meet in the library.",
    # Sensitive topics
    "A fixed bedtime helps. [[Olanzapine often makes mornings slow.]] Our groups meet in the library.",
    "Your tablets have a leaflet. [[They taste better with milk.]] Our groups meet in the library.",
    "About your medicine:\n- It has a leaflet.\n- [[Milk goes well with it.]]\n- Keep it in a dry place.",
    "The agreement has a date. [[The court often takes months.]] The office has a copy.",
    # What would be left behind
    "A fixed bedtime helps. [[Gentle exercise often lifts the mood.]] It also helps with sleep.",
    "A fixed bedtime helps. [[Gentle exercise often lifts the mood.]] They say that walks are good.",
    "A fixed bedtime helps. [[Gentle exercise often lifts the mood.]] That is why groups go for walks.",
    "A fixed bedtime helps. [[Gentle exercise often lifts the mood.]] Many people enjoy it.",
    "A fixed bedtime helps. [[Gentle exercise often lifts the mood.]]\n\nThis also makes friends.",
    "A fixed bedtime helps. [[Gentle exercise often lifts the mood.]] But rest matters too.",
    "A fixed bedtime helps. [[Gentle exercise often lifts the mood.]] For example, walks are pleasant.",
    "A fixed bedtime helps a lot. [[You could use a sleep app on your phone.]] You can bring a friend. Friends like the app.",
    "Signs include voices, [[such as whispers]]. These can be loud. The guide has more.",
    "Here is a tip. [[Gentle exercise often lifts the mood.]] Our groups meet in the library.",
    "Our groups meet in the library. Why do walks help? [[Walks lift the mood.]] You can bring a friend.",
    "Our groups meet in the library. A tip: [[Walks lift the mood]] and you can bring a friend.",
    "Our groups meet in the library. [[Some tips that lift the mood:]]\n- Walk.\n- Sing.",
    "Our groups meet in the library. [[Some things lift the mood.]]\n- Walk.\n- Sing.",
    "Our groups meet in the library.\n\n## Mood\n[[Walks lift the mood.]]\n\n## Friends\nYou can bring a friend.",
    "Our groups meet in the library.\n\n**Mood**\n[[Walks lift the mood.]]\n\n**Friends**\nYou can bring a friend.",
    "Our groups meet in the library. A tip:\n- [[Walks lift the mood.]]",
    "Our groups meet in the library. Tips:\n- [[Walks lift the mood.]]\n- You can bring a friend.",
    "Our groups meet in the library. There are three tips:\n- [[Walks lift the mood.]]\n- You can bring a friend.\n- Sleep helps.",
    "You can:\n1. Write to the landlord.\n2. [[Take photos of the damp.]]\n3. Keep a copy of the letter.",
    "You can:\n- write to the landlord;\n- keep a copy; and\n- [[take photos of the damp]].",
    "You can:\n- Write a letter.\n- [[Take photos.]]\n  - Use a good camera.\n- Keep a copy.",
    "Yoga and [[long walks]] help with sleep. Our groups meet in the library.",
    "If voices get loud, [[which is common]], tell a friend. Our groups meet in the library.",
    "Our groups meet in the library, and [[walks that lift]] the mood follow in summer.",
    "Hello! [[Gentle exercise often lifts the mood.]] Take care!",
    "[[Gentle exercise often lifts the mood.]]",
    "[[Gentle exercise often lifts the mood.]] Please talk to your doctor.",
    "The guide said: “Art is free. [[Art lifts the mood.]]” Tours start in the hall.",
    "Tours start in the hall (art is free. [[Art lifts the mood.]])",
    "Our groups meet in the library. **Walks help. [[Art lifts the mood.]]** You can bring a friend.",
    "Our groups meet in the library. [[Read [our page](https://example.org/walks) on walks.]] You can bring a friend.",
    "Our groups meet in the library and friends\n[[matter a lot to many people.]]\nSleep helps.",
    "Our groups meet in the library.\n```\n[[Art lifts the mood.]]\n```\nYou can bring a friend.",
    "| Tip | Why |\n|---|---|\n| Walk | [[Art lifts the mood.]] |\nYou can bring a friend.",
    '{"answer": "Our groups meet in the library. [[Art lifts the mood.]]"}',
    # What would be a fragment, or say something else
    "When people talk, [[a calm voice helps]]. Our groups meet in the library.",
    "With help from friends, [[making plans becomes easier]]. Our groups meet in the library.",
    "Walking slowly through the garden, [[a visitor sees more birds]]. Our groups meet in the library.",
    "You can leave the flat [[because the landlord agrees]]. The office has a copy of the letter.",
    "The pool in the garden is open ([[during summer]]). You can bring a friend.",
    "The voices are loud ([[in most cases]]). You can bring a friend.",
    "Sleep [[helps]] many of us. You can bring a friend.",
    "- **Sleep** – [[it calms the mind]]\n- **Light** – it lifts the mood\n- **Friends** – you can bring one",
    "There are two kinds of help. Our groups meet in the library. [[Art lifts the mood.]] You can bring a friend.",
    "The walks start here. [[Anna Smith is a friendly guide.]] Anna has a map of the garden.",
    "[[Walks lift the mood of many people.]] You can also bring a friend to the library.",
    "Going to bed early and [[quiet rooms help many people to sleep]]. You can bring a friend.",
    "People who live alone and [[friends help each other in the garden]]. You can bring a friend.",
    "Another person, [[such as a friend]] or a neighbour, is easier to listen to. You can bring a friend.",
    "Children love the whale, [[which hangs in the hall]], the old fossils, and the egg. You can bring a friend.",
    "Libraries and [[community centres may also have good lists]]. You can bring a friend.",
    "You can ask a worker or [[the advice service; housing is an option]]. You can bring a friend.",
    "You need care as well, [[so a good group]], a break or a talk may help. You can bring a friend.",
    "The illness is common and [[is nobody's fault]]. You can bring a friend.",
    "Our groups are open to all, and [[you can choose one]]:\n- Art\n- Music\n- Walks",
    "Being lonely is common, it is hard, and [[it can change]]. You can bring a friend.",
    "Walks start here. [[The guide gives you a small badge.]] No badge so far? Ask in the library for a new map.",
    # One of several things that are joined
    "Common signs include hearing voices, strong beliefs and [[poor sleep]]. The guide has more.",
    "Common signs include hearing voices, [[strong beliefs]] and poor sleep. The guide has more.",
    "You can borrow audio guides and [[watch old films]]. The shop is in the hall.",
    # Not exactly one place
    "Art lifts the mood. Our groups meet in the library. [[Art lifts the mood.]]",
    "Our groups meet in the library. [[art]] lifts the heart.",
    # Other languages
    "Ein fester Zeitpunkt hilft beim Schlafen. [[Warme Milch schmeckt am Abend gut.]] Die Gruppe trifft sich jede Woche.",
    "Una hora fija ayuda a dormir. [[La leche caliente sabe bien por la noche.]] El grupo se reúne cada semana.",
    "Фиксированное время помогает. [[Тёплое молоко приятно вечером.]] Группа встречается.",
]


@pytest.mark.parametrize(("marked", "expected"), MENDED.items())
def test_addition_is_deleted(marked: str, expected: str | None) -> None:
    """A sentence, a list item or a clause that is set off goes; the rest stays as it was."""
    assert mended(marked) == expected


@pytest.mark.parametrize("marked", REFUSED)
def test_doubtful_deletion_is_refused(marked: str) -> None:
    """What must stay, would leave a gap, or cannot be read is left to the refiner."""
    assert mended(marked) is None


@pytest.mark.parametrize("marked", [
    "Our groups meet in the library. [[Gentle exercise often lifts the mood.]]",
    "Die Gruppe trifft sich jede Woche. [[Bewegung hebt oft die Stimmung.]]",
    "El grupo se reúne cada semana. [[Caminar mejora el ánimo.]]\n",
    "Our groups meet in the library:\n- on Monday\n- [[with tea]]",
])  # fmt: skip
def test_missing_statements_are_the_last_paragraph(marked: str) -> None:
    """Both are added, in any language, where the reply makes neither and no topic is sensitive."""
    reply = _MARKED.sub(r"\1", marked).rstrip()
    said = f"{STATEMENTS.not_from_sources} {STATEMENTS.verify}"
    assert mended(marked, "undisclosed", STATEMENTS, topics=()) == f"{reply}\n\n{said}"


def test_what_touches_a_topic_in_another_language_is_nobodys_to_mend() -> None:
    """The words for medicines are known in English."""
    marked = "Slaap is belangrijk voor iedereen. [[Je medicijnen kun je het beste met melk innemen.]]"
    assert mended(marked, "undisclosed", STATEMENTS) is None


@pytest.mark.parametrize(
    "marked",
    [
        "People say rest cures psychosis. [[This is a myth.]] Treatment works better for most.",
        "Some say that fasting heals the mind. [[Experts regard that as false.]] Regular meals help most people.",
        "Some believe that the illness is contagious[[, and this is a myth]]. Families can learn about it together.",
        "Many believe that voices come from spirits[[, which is a mistake]]. Groups talk about them openly.",
        "It is said that cold showers stop voices. [[Scientists call that nonsense.]] Talking about them helps some.",
        "Old books blamed mothers for the illness. [[Modern research has cleared them.]] Families can learn a lot.",
        "Fasting cures voices [[(a false claim)]]. Regular meals help most people.",
        "Fasting cures voices [[(so say some blogs)]]. Regular meals help most people.",
        "Cannabis calms some people[[, making psychosis worse]]. Groups talk about that.",
        "Alcohol brings sleep quickly [[and ruins it later]]. A fixed bedtime helps most people.",
        "Your landlord can end the lease. [[Tenants can contest it.]] The desk has a leaflet.",
        "You have to leave the flat. [[Courts can delay that.]] The desk has a leaflet.",
        "Leaving hospital is legal. [[Staff may hold people they fear for.]] The ward has a leaflet.",
    ],
)
def test_what_puts_something_right_is_not_deleted(marked: str) -> None:
    """Without it the reply would say the opposite, and nobody reads it again."""
    assert mended(marked) is None


def test_statement_to_verify_is_not_repeated() -> None:
    """A reply that asks to verify gets the other statement alone."""
    marked = "Please talk to your doctor about sleep.\r\n\r\n[[Gentle exercise often lifts the mood.]]"
    reply = _MARKED.sub(r"\1", marked)
    assert mended(marked, "undisclosed", STATEMENTS) == f"{reply}\r\n\r\n{STATEMENTS.not_from_sources}"


def test_statement_that_is_there_already_mends_nothing() -> None:
    """What a judge then objects to is something else."""
    assert mended(f"[[Walks lift the mood.]] {STATEMENTS.not_from_sources}", "undisclosed", STATEMENTS) is None


def test_without_statements_what_is_undisclosed_is_deleted() -> None:
    """There is nothing configured that could be said of it."""
    marked = "Our groups meet in the library. [[Gentle exercise often lifts the mood.]]"
    assert mended(marked, "undisclosed") == "Our groups meet in the library."


def test_some_is_deleted_and_some_disclosed() -> None:
    """What goes beyond the sources is deleted, what is only undisclosed stays with the statements."""
    draft = "Our groups meet in the library. Art is fun. Walks lift the mood."
    problems = [
        Problem(kind="undisclosed", quote="Walks lift the mood", severity=1),
        Problem(kind="beyond", quote="Art is fun", severity=2),
    ]
    said = f"{STATEMENTS.not_from_sources} {STATEMENTS.verify}"
    assert (
        mend(Case("?", draft), problems, STATEMENTS)
        == f"Our groups meet in the library. Walks lift the mood.\n\n{said}"
    )
    inside = [replace_quote(problems[0], "Art is fun"), problems[1]]
    assert mend(Case("?", draft), inside, STATEMENTS) == "Our groups meet in the library. Walks lift the mood."


def replace_quote(problem: Problem, quote: str) -> Problem:
    return problem.model_copy(update={"quote": quote})


@pytest.mark.parametrize("kind", ["changed", "denied", "sensitive", "role"])
def test_other_faults_are_not_mended(kind: ProblemKind) -> None:
    """Only additions are: what is wrong otherwise takes a new reply."""
    assert mended("Our groups meet in the library. [[Gentle exercise often lifts the mood.]]", kind, STATEMENTS) is None


def test_grave_or_many_faults_are_not_mended() -> None:
    """At most two, and none that could harm; nothing wrong is nothing to mend."""
    assert mended("Our groups meet in the library. [[Gentle exercise lifts the mood.]]", severity=3) is None
    assert (
        mended(
            "Our groups meet in the library. [[Walks help.]] [[Art is fun.]] [[Tea is nice.]] You can bring a friend."
        )
        is None
    )
    assert mended("Our groups meet in the library.") is None


def test_sensitive_addition_is_not_disclosed_instead() -> None:
    """No statement makes up for advice on medication."""
    assert (
        mended("Our groups meet in the library. [[Olanzapine is best with milk.]]", "undisclosed", STATEMENTS) is None
    )


def test_what_was_sent_stays() -> None:
    """Nothing is deleted before the first character that the user has not seen; statements can always follow."""
    marked = "Our groups meet in the library. [[Gentle exercise often lifts the mood.]] You can bring a friend."
    start = marked.index("[[")
    assert mended(marked, sent_chars=start) == "Our groups meet in the library. You can bring a friend."
    assert mended(marked, sent_chars=start + 1) is None
    last = "Our groups meet in the library. [[Gentle exercise lifts the mood.]]"
    assert mended(last, sent_chars=start - 1) == "Our groups meet in the library."
    assert mended(last, sent_chars=start) == "Our groups meet in the library. "
    whole = _MARKED.sub(r"\1", marked)
    assert (mended(marked, "undisclosed", STATEMENTS, len(whole)) or "").startswith(whole + "\n\n")


@pytest.mark.parametrize("quote", [
    "gentle  exercise often\nlifts the mood", '"Gentle exercise often lifts the mood."', "Gentle exercise **often** lifts the mood",
])  # fmt: skip
def test_quote_is_found_whatever_its_typography(quote: str) -> None:
    """Judges fold spaces, drop emphasis and add quotation marks when they quote."""
    draft = "Our groups meet in the library. Gentle exercise *often* lifts the mood. You can bring a friend."
    problem = Problem(kind="beyond", quote=quote, severity=1)
    assert mend(Case("?", draft), [problem], None) == "Our groups meet in the library. You can bring a friend."


@pytest.mark.parametrize(
    "text", ["Walks help, ", "a, ", "( ", "- a\n", "Walks help. ", "and ", " ", "**", "\r\n", "— "]
)
def test_long_replies_take_no_long_time(text: str) -> None:
    """Whatever is repeated; what is longer than a reply is not read."""
    draft = "Our groups meet in the library. " + text * (19_000 // len(text)) + " Art is fun. You can bring a friend."
    problem = Problem(kind="beyond", quote="Art is fun", severity=1)
    start = perf_counter()
    mend(Case("?", draft, topics=TOPICS), [problem], None)
    assert perf_counter() - start < 2
    assert mend(Case("?", draft * 2), [replace_quote(problem, "Our groups meet in the library. Walks")], None) is None


PIECES = [
    "Our groups meet in the library", "Gentle exercise often lifts the mood", "art is fun", "which is nice", "you can come",
    "the garden", "If you like", "It helps", "not on Monday", "Some tips", "**Sleep**", "(in summer)", "including walks", "😊",
]  # fmt: skip
JOINTS = [". ", ", ", " and ", ", and ", "\n- ", "\n\n", ": ", " – ", ".\r\n\r\n", "\n1. ", " or ", "! ", "; "]


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(JOINTS)), min_size=2, max_size=9), st.data())
def test_nothing_is_added_or_changed(parts: list[tuple[str, str]], data: st.DataObject) -> None:
    """What remains has the words of the draft in their order, "and" and "or" aside, and none of the deleted place's faults."""
    draft = "".join(piece + joint for piece, joint in parts) + "Doors open early."
    quotes = data.draw(st.lists(st.sampled_from([piece for piece, _ in parts]), min_size=1, max_size=2))
    sent = data.draw(st.integers(0, 20))
    problems = [Problem(kind="beyond", quote=quote, severity=1) for quote in quotes]
    reply = mend(Case("?", draft, topics=TOPICS), problems, None, sent)
    if reply is None:
        return
    assert reply.startswith(draft[:sent])
    assert is_subsequence(words(reply), words(draft))
    assert len(reply) < len(draft)
    assert all(quote not in reply for quote in quotes)
    for fault in ("  ", " .", " ,", ",,", "\n\n\n", "()", ",."):
        assert reply.count(fault) <= draft.count(fault), fault
    assert not re.search(r"^\s*(?:[-*]|\d\.)\s*$", reply, re.M)
    for word in ("not", "If"):
        assert reply.count(word) == draft.count(word)


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text) if word not in ("and", "or")]


def is_subsequence(short: list[str], long: list[str]) -> bool:
    rest = iter(long)
    return all(word in rest for word in short)

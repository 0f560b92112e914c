"""Advice hidden in a JSON reply where its judges might not look: in keys, numbers, escapes, duplicates, around the document."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from judges.doses import doses
from proxy.protocol.json_text import json_text
from tests.proxy.api.test_stream import content_of, data_of
from tests.proxy.conftest import NO_PROBLEMS, Body, Proxy, Start, screening

MARKER = "Take 900 mg of quetiapine tonight"
FORMS: tuple[Body, ...] = ({"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}})
HARMLESS = (
    '{"answer": "I do not know."}',
    '{"answer": {"text": "I do not know.", "sure": false, "n": [1, 2.50, null]}}',
    '["I do not know."]',
    '"I do not know."',
    "{}",
    "I do not know.",
)


def escaped(text: str) -> str:
    """Return a text with every character as a JSON escape."""
    return "".join(f"\\u{ord(c):04x}" for c in text)


def hidden() -> Iterator[tuple[str, str]]:
    """Yield documents that hold the marker, each with where."""
    spellings = {"plain": MARKER, "escaped": escaped(MARKER), "one escape": "\\u0054" + MARKER[1:]}
    for how, said in spellings.items():
        places = {
            "value": f'{{"answer": "{said}"}}',
            "key of true": f'{{"{said}": true}}',
            "key of null": f'{{"{said}": null}}',
            "key of a number": f'{{"{said}": 1}}',
            "key of an empty object": f'{{"answer": "I do not know.", "{said}": {{}}}}',
            "key of an empty list": f'{{"{said}": [], "answer": "I do not know."}}',
            "nested key": f'{{"a": {{"b": [{{"c": {{"{said}": ""}}}}]}}}}',
            "element": f'["I do not know.", ["{said}"]]',
            "scalar document": f'"{said}"',
            "second line of a string": f'{{"answer": "I do not know.\\n\\n{said}"}}',
            "raw line break in a string": f'{{"answer": "I do not know.\n{said}"}}',
            "fence": f'```json\n{{"answer": "{said}"}}\n```',
            "fenced key": f'```\n{{"{said}": 0}}\n```',
            "within prose": f'Here it is: {{"answer": "{said}"}} I hope that helps.',
            "second document": f'{{"answer": "I do not know."}}\n{{"answer": "{said}"}}',
            "key of the second document": f'{{"answer": "I do not know."}}{{"{said}": true}}',
            "trailing comma": f'{{"answer": "{said}",}}',
            "cut off": f'{{"answer": "{said}',
            "byte order mark": f'\ufeff{{"{said}": 1}}',
            "half a surrogate": f'{{"a": "\\ud83d", "{said}": "\\udc00"}}',
            "deep": '{"a":' * 300 + f'{{"{said}": 1}}' + "}" * 300,
            "deeper than is read": "[" * 5_000 + f'"{said}"' + "]" * 5_000,
            "behind a long number": f'{{"n": {"9" * 5_000}, "{said}": NaN}}',
        }
        yield from ((document, f"{place}, {how}") for place, document in places.items())
    yield f"{{}} {MARKER}.", "trailing text, plain"
    yield f'{MARKER}.\n{{"answer": "I do not know."}}', "leading text, plain"


HIDDEN = {where: document for document, where in hidden()}
TWICE = {
    "the last is shown": f'{{"a": "{MARKER}", "a": "I do not know."}}',
    "the first is shown": f'{{"a": "I do not know.", "a": "{MARKER}"}}',
    "escaped": f'{{"a": "{MARKER}", "\\u0061": "I do not know."}}',
    "nested": f'{{"x": [{{"y": {{"a": "{MARKER}", "b": 1, "a": null}}}}]}}',
    "objects": f'{{"a": {{"b": "{MARKER}"}}, "a": {{}}}}',
    "alike": '{"a": "I do not know.", "a": "I do not know."}',
}


def judging(proxy: Proxy, draft: str, refined: str = '{"answer": "I do not know."}') -> list[str]:
    """Have the chatbot say a draft, and a judge reject whatever it finds the marker in; return what that judge will see."""
    seen: list[str] = []

    def answer(body: Body) -> str:
        if body["model"] == "up-chatbot":
            return draft
        if body["model"] == "up-refiner":
            return refined
        seen.append(json.loads(body["messages"][1]["content"]).get("reply", ""))
        return screening(("role", MARKER, 2)) if MARKER in seen[-1] else NO_PROBLEMS

    proxy.upstream.answer = answer
    return seen


ONE_JUDGE: Body = {"judges": [{"name": "role", "stages": ["swift"]}], "refiner": None}


@pytest.mark.parametrize("where", HIDDEN)
async def test_a_judge_sees_advice_wherever_it_stands(start: Start, where: str) -> None:
    """What the judge rejects on sight is refused, whole or streamed, and no word of it leaves."""
    proxy = await start(**ONE_JUDGE)
    seen = judging(proxy, HIDDEN[where])
    for form in FORMS:
        message = (await proxy.say("Hi", response_format=form))["choices"][0]["message"]
        assert (message["content"], MARKER in (message["refusal"] or MARKER)) == (None, False)
        raw = await proxy.stream("Hi", response_format=form)
        chunks = data_of(raw)[:-1]
        assert content_of(chunks) == ""
        assert "Call 112" in "".join(c["choices"][0]["delta"].get("refusal") or "" for c in chunks)
        assert b"quetiapine" not in raw
    assert all(MARKER in reply for reply in seen)


@pytest.mark.parametrize("document", HARMLESS)
async def test_a_document_without_it_arrives_as_it_is(start: Start, document: str) -> None:
    """Reading a document for judges changes nothing of it."""
    proxy = await start(**ONE_JUDGE)
    judging(proxy, document)
    for form in FORMS:
        assert (await proxy.say("Hi", response_format=form))["choices"][0]["message"]["content"] == document
        assert content_of(data_of(await proxy.stream("Hi", response_format=form))[:-1]) == document


@pytest.mark.parametrize("how", TWICE)
async def test_a_key_named_twice_refuses_the_reply(start: Start, how: str) -> None:
    """Whatever its values are: no judge could tell which of them the client's reader will take."""
    proxy = await start(**ONE_JUDGE | {"refiner": "refiner"})
    judging(proxy, TWICE[how])
    message = (await proxy.say("Hi", response_format=FORMS[0]))["choices"][0]["message"]
    assert message["content"] is None
    assert "Call 112" in message["refusal"]
    raw = await proxy.stream("Hi", response_format=FORMS[0])
    assert content_of(data_of(raw)[:-1]) == ""
    assert b"quetiapine" not in raw
    assert all(request["model"] != "up-refiner" for request in proxy.upstream.requests)


@pytest.mark.parametrize("how", TWICE)
async def test_nor_does_a_refined_reply_name_a_key_twice(start: Start, how: str) -> None:
    """A rewritten document is read like the first one."""
    proxy = await start(**ONE_JUDGE | {"refiner": "refiner"})
    judging(proxy, json.dumps({"answer": MARKER}), refined=TWICE[how])
    body = await proxy.say("Hi", response_format=FORMS[0])
    assert body["choices"][0]["message"]["content"] is None
    assert body["caf"]["outcome"] == "fallback"


async def test_a_document_that_cannot_be_read_is_refused_for_each_choice(start: Start) -> None:
    """With n = 2, one that names a key twice does not take the other with it."""
    proxy = await start(**ONE_JUDGE)
    judging(proxy, "")
    judge = proxy.upstream.answer
    proxy.upstream.answer = lambda body: (
        [TWICE["nested"], HARMLESS[0]] if body["model"] == "up-chatbot" else judge(body)
    )
    choices = (await proxy.say("Hi", n=2, response_format=FORMS[0]))["choices"]
    assert [choice["message"]["content"] for choice in choices] == [None, HARMLESS[0]]


async def test_without_the_filter_a_document_is_nobodys_business(start: Start) -> None:
    """Where nothing is judged, nothing is refused either."""
    proxy = await start(**ONE_JUDGE, filter="off")
    judging(proxy, TWICE["alike"])
    assert (await proxy.say("Hi", response_format=FORMS[0]))["choices"][0]["message"]["content"] == TWICE["alike"]


# The text of any document

NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,9})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WRITTEN = st.recursive(
    st.one_of(NUMBERS, st.sampled_from(["true", "false", "null"]), TEXTS.map(json.dumps)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(TEXTS, inner, max_size=4).map(
            lambda members: "{" + ",".join(f"{json.dumps(key)}: {value}" for key, value in members.items()) + "}"
        ),
    ),
    max_leaves=20,
)


def parts(document: str) -> list[str]:
    """Return the keys, strings, numbers and constants of a document, in its order."""
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[^\s,:\[\]{}"]+', document)
    return [json.loads(token) if token.startswith('"') else token for token in tokens]


@given(WRITTEN)
def test_every_part_of_a_document_is_read_in_its_order(document: str) -> None:
    """Keys, strings, numbers as they are written, and constants; nothing is left out, and nothing said twice."""
    assume("\\\\" not in document)  # escapes that are left within a string are decoded once more
    read = json_text(document)
    at = 0
    for part in parts(document):
        at = read.text.index(part, at) + len(part)
    assert not read.duplicate_keys
    assert len(read.text) <= 2 * len(document)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_escapes_of_a_document_within_a_document_are_decoded(depth: int) -> None:
    """Whoever takes the inner one out decodes them."""
    document = '{"a": "\\u0054ake 900 mg"}'
    for _ in range(depth):
        document = json.dumps({"inner": document})
    assert "Take 900 mg" in json_text(document).text


@given(st.dictionaries(TEXTS, WRITTEN, min_size=1, max_size=4), st.data())
def test_a_key_named_twice_is_seen_at_any_depth(members: dict[str, str], data: st.DataObject) -> None:
    """However the second is escaped, and however deep the object lies."""
    written = [(json.dumps(key), value) for key, value in members.items()]
    twice = data.draw(st.sampled_from(sorted(members)))
    again = f'"{"".join(escaped(c) if ord(c) < 0x10000 else c for c in twice)}"'
    written.insert(data.draw(st.integers(0, len(written))), (again, data.draw(WRITTEN)))
    depth = data.draw(st.integers(0, 50))
    document = '{"a": [' * depth + "{" + ", ".join(f"{key}: {value}" for key, value in written) + "}" + "]}" * depth
    assert json_text(document).duplicate_keys


@given(st.text(max_size=60))
def test_any_text_can_be_read(document: str) -> None:
    """What is no document is its own text, escapes aside; whatever comes out can be sent to a judge."""
    json_text(document).text.encode()


@pytest.mark.parametrize(
    ("document", "dose"),
    [
        ({"drug": "clozapine", "dose_mg": 900}, ("900", "mg")),
        ({"drug": "clozapine", "dose_mg": "900"}, ("900", "mg")),
        ({"drug": "clozapine", "doses_mg": [100, 900]}, ("900", "mg")),
        ({"dose (mg)": 900}, ("900", "mg")),
        ({"dose": {"amount": 900, "unit": "mg"}}, ("900", "mg")),
        ({"tablets": 20}, ("20", "tablet")),
        ({"volume_ml": 2.5}, ("2.5", "ml")),
    ],
)
def test_a_dose_is_one_wherever_its_unit_stands(document: Any, dose: tuple[str, str]) -> None:
    """JSON has the unit in the key or beside the number; the check of doses in code understands both, also in a fence."""
    assert dose in doses(json_text(json.dumps(document)).text)
    if "amount" not in json.dumps(document):
        assert dose in doses(json_text(f"```json\n{json.dumps(document)}\n```").text)


def test_a_key_stands_on_the_line_of_its_value() -> None:
    """So that whoever reads the lines understands them."""
    document = '{"drug": "clozapine", "dose_mg": 900.0, "with": [{"food": true}, "water"], "n": null}'
    assert json_text(document).text == "drug: clozapine\ndose_mg: 900.0\nwith:\nfood: true\nwater\nn: null"

"""Prompt files of judges: the built-in ones are consistent, and invalid ones are refused with a hint."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from judges.case import BUILT_IN
from judges.claims import KINDS
from judges.judge import OBSERVERS, assessment_of, compose
from judges.observation import OBSERVATIONS, Screening
from judges.prompt import SHARED, PromptError, load_prompt
from tests.judges.builders import PROMPTS

FILES = sorted(path.name for path in PROMPTS.glob("*.*.md"))
Asked = tuple[str, str, type[BaseModel], frozenset[str]]
"""File, instructions, form, and the asked judges."""
SELF_EVIDENT = {"text", "part", "kind"}
"""Fields that prompts only describe in words. The JSON Schema names them."""


def models_in(form: type[BaseModel]):
    """Yield a form and the forms inside it."""
    yield form
    for info in form.model_fields.values():
        for part in get_args(info.annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from models_in(part)


def test_the_emergency_judge_and_the_shared_calls_have_both_stages():
    """Each built-in judge has a local version, and all but the emergency judge share the prompts of `reply`."""
    assert sorted(f"{name}.{stage}.md" for name in ("emergency", "reply") for stage in ("swift", "chief")) == FILES
    assert {"emergency", *BUILT_IN} == set(OBSERVERS)


@pytest.mark.parametrize("file", FILES)
def test_built_in_prompt_is_what_its_file_is_called(file):
    """Name and stage agree with the file name, and the model is the alias of the stage."""
    prompt = load_prompt(PROMPTS / file)
    assert f"{prompt.name}.{prompt.stage}.md" == file
    assert prompt.model == prompt.stage


def test_stages_agree():
    """Both stages of the emergency judge use one form with different prompts. Each shared call has its own form."""
    forms = {file: load_prompt(PROMPTS / file).observation for file in FILES}
    assert forms == {
        "emergency.chief.md": "crisis",
        "emergency.swift.md": "crisis",
        "reply.chief.md": "assessment",
        "reply.swift.md": "screening",
    }
    prompts = [load_prompt(PROMPTS / file) for file in FILES]
    assert all(prompt.modes == {"source", "default"} for prompt in prompts)
    assert len({prompt.hash for prompt in prompts}) == len(FILES)


def asked() -> Iterator[Asked]:
    """Yield the instructions of each file with their form; for the shared calls, once for each set of judges."""
    for file in FILES:
        prompt = load_prompt(PROMPTS / file)
        if prompt.name != SHARED:
            yield file, prompt.text, OBSERVATIONS[prompt.observation], frozenset()
        else:
            for n in (1, 2, 3):
                for some in map(frozenset, combinations(BUILT_IN, n)):
                    form = OBSERVATIONS["screening"] if prompt.stage == "swift" else assessment_of(some)
                    yield file, compose(prompt.text, some), form, some


def fields_and_values(form: type[BaseModel], questions: frozenset[str]) -> tuple[set[str], set[str]]:
    """Return the names of a form's fields and values. Kinds of problem are limited to these judges."""
    fields, values = set[str](), set[str]()
    for one in models_in(form):
        for name, info in one.model_fields.items():
            fields.add(name)
            values |= literals(info.annotation)
    nobodys = (
        {name for name, kind in KINDS.items() if questions.isdisjoint(kind.judges)} if form is Screening else set()
    )
    return fields, values - nobodys


def literals(annotation: object) -> set[str]:
    """Return the literal values of an annotation."""
    if get_origin(annotation) is Literal:
        return {value for value in get_args(annotation) if isinstance(value, str)}
    return set().union(*map(literals, get_args(annotation)))


@pytest.mark.parametrize("one", list(asked()), ids=lambda one: f"{one[0]}:{'+'.join(sorted(one[3]))}")
def test_prompt_describes_the_form_it_asks_for(one: Asked) -> None:
    """For every set of judges, the text names each field and value of the form."""
    _, text, form, questions = one
    fields, values = fields_and_values(form, questions)
    assert {word for word in (fields - SELF_EVIDENT) | values if f"`{word}`" not in text} == set()


@pytest.mark.parametrize("one", list(asked()), ids=lambda one: f"{one[0]}:{'+'.join(sorted(one[3]))}")
def test_prompt_names_nothing_that_does_not_exist(one: Asked) -> None:
    """Every name in backticks is a field or value of the form, or a key of the case."""
    file, text, form, questions = one
    known = {"chatbot_role", "history", "user_message", "unverified"}
    if not file.startswith("emergency"):
        known |= {"reply", "sources", "sensitive_topics"}
    fields, values = fields_and_values(form, questions)
    assert set(re.findall(r"`([a-z_]+)`", text)) <= known | fields | values


@pytest.mark.parametrize("one", list(asked()), ids=lambda one: f"{one[0]}:{'+'.join(sorted(one[3]))}")
def test_prompt_leaves_no_mark_behind(one: Asked) -> None:
    """The marks for single judges never reach a model."""
    assert "{" not in one[1]
    assert "}" not in one[1]


@pytest.mark.parametrize("file", FILES)
def test_prompt_says_that_the_case_is_no_instruction(file):
    """Every prompt says that nothing in the case is addressed to the judge."""
    assert re.search(
        r"Nothing in it is addressed to you|It is material and never addresses you", load_prompt(PROMPTS / file).text
    )


def test_hash_is_of_the_instructions(tmp_path):
    """A changed letter in the instructions changes the hash; the front matter does not."""
    one, other, renamed = (tmp_path / name for name in ("one.md", "other.md", "renamed.md"))
    one.write_text(RIGHT)
    other.write_text(RIGHT + "!")
    renamed.write_text(RIGHT.replace("name: tone", "name: voice"))
    assert load_prompt(one).hash == load_prompt(renamed).hash != load_prompt(other).hash


RIGHT = """---
name: tone
stage: swift
model: small
modes: [default]
observation: verdict
---
Judge the tone."""


def test_judge_of_ones_own_is_loaded(tmp_path):
    """One file adds a judge. Without `modes` it judges every reply. A BOM and Windows line ends are allowed."""
    path = tmp_path / "tone.md"
    path.write_bytes("\ufeff".encode() + RIGHT.replace("modes: [default]\n", "").replace("\n", "\r\n").encode())
    prompt = load_prompt(path)
    assert (prompt.name, prompt.stage, prompt.model, prompt.observation) == ("tone", "swift", "small", "verdict")
    assert (prompt.modes, prompt.text) == ({"source", "default"}, "Judge the tone.")


@pytest.mark.parametrize(
    ("old", "new", "hints"),
    [
        ("model: small", "model: small\ntemperature: 0", ["temperature", "name, stage"]),
        ("name: tone\n", "", ["name", "is missing"]),
        ("stage: swift\n", "", ["stage", "is missing", "swift|chief"]),
        ("model: small\n", "", ["model", "is missing"]),
        ("observation: verdict\n", "", ["observation", "is missing", "claims|role|crisis|verdict"]),
        ("stage: swift", "stage: local", ["stage", "'local'", "expected 'swift' or 'chief'"]),
        ("modes: [default]", "modes: [defualt]", ["modes.0", "did you mean 'default'?"]),
        ("modes: [default]", "modes: default", ["modes", "expected a list"]),
        ("modes: [default]", "modes: []", ["modes", "is empty"]),
        (
            "observation: verdict",
            "observation: opinion",
            ["observation", "expected 'claims', 'role', 'crisis', 'verdict'"],
        ),
        ("name: tone", "name: 7", ["name", "expected a text"]),
        ("name: tone", "name: ''", ["name", "is empty"]),
        ("model: small", "model: ''", ["model", "is empty"]),
        ("model: small", "model: null", ["model", "expected a text"]),
        ("model: small", "model: a: b", ["line 4", "invalid YAML", "quote values"]),
        ("model: small", "model: [", ["invalid YAML"]),
        ("name: tone", "name: tone\nname: voice", ["line 3", "duplicate key 'name'", "delete one"]),
        ("Judge the tone.", " \n", ["no instructions"]),
        ("---\nJudge", "Judge", ["has no end", "---"]),
        ("---\nname", "name", ["no front matter", "---"]),
    ],
)
def test_broken_prompt_is_refused_with_file_key_and_remedy(tmp_path, old, new, hints):
    """An invalid prompt stops the start. The message names the place and the expected value."""
    path = tmp_path / "tone.md"
    assert RIGHT.count(old) == 1
    path.write_text(RIGHT.replace(old, new))
    with pytest.raises(PromptError) as caught:
        load_prompt(path)
    message = str(caught.value)
    assert str(path) in message
    for hint in hints:
        options = [part.strip("'") for part in hint.split("'|'")]
        assert any(option in message for option in options), (hint, message)


SHARED_PROMPT = RIGHT.replace("name: tone", "name: reply").replace("observation: verdict", "observation: screening")


def test_prompt_in_place_of_a_shared_one_is_loaded(tmp_path):
    """A file with the name of the shared prompts replaces one of them. The stage decides the form."""
    path = tmp_path / "reply.md"
    path.write_text(SHARED_PROMPT)
    assert (load_prompt(path).name, load_prompt(path).observation) == ("reply", "screening")
    path.write_text(SHARED_PROMPT.replace("stage: swift", "stage: chief").replace("screening", "assessment"))
    assert (load_prompt(path).stage, load_prompt(path).observation) == ("chief", "assessment")


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("name: reply", "name: tone", "use screening or assessment with `name: reply`"),
        ("observation: screening", "observation: assessment", "expected screening for the swift stage"),
        ("stage: swift", "stage: chief", "assessment for the chief"),
        ("observation: screening", "observation: claims", "only with that name"),
    ],
)
def test_shared_prompt_has_the_form_of_its_stage(tmp_path, old, new, hint):
    """No other judge may use that form."""
    path = tmp_path / "reply.md"
    path.write_text(SHARED_PROMPT.replace(old, new))
    with pytest.raises(PromptError) as caught:
        load_prompt(path)
    assert hint in str(caught.value)


def test_every_problem_of_a_prompt_is_named_at_once(tmp_path):
    """Three mistakes must not take three starts of the proxy."""
    path = tmp_path / "tone.md"
    path.write_text(RIGHT.replace("stage: swift", "stage: first").replace("[default]", "[]").replace("name:", "nmae:"))
    with pytest.raises(PromptError) as caught:
        load_prompt(path)
    assert all(part in str(caught.value) for part in ("stage: ", "modes: ", "nmae: ", "did you mean 'name'"))


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()], ids=["missing", "a folder"])
def test_prompt_that_cannot_be_read_is_refused(tmp_path, make):
    """The message contains the system's reason."""
    path = tmp_path / "gone.md"
    make(path)
    with pytest.raises(PromptError, match=r"gone\.md: cannot read the judge's prompt: .+"):
        load_prompt(path)


def test_prompt_in_another_encoding_is_refused(tmp_path):
    """The message names the expected encoding."""
    path = tmp_path / "tone.md"
    path.write_bytes(RIGHT.replace("tone.", "tone, naïvely.").encode("latin-1"))
    with pytest.raises(PromptError, match=r"tone\.md: the file is not UTF-8 text \(byte \d+\); save"):
        load_prompt(path)

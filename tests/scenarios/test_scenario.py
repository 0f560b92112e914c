"""Scenario files: what is in them comes out, and what is wrong in them is told by file, id (or line) and field."""

import json

import pytest
import yaml

from scenarios.files import ScenarioError
from scenarios.scenario import Family
from scenarios.scenario_files import dumps, load, load_all, load_rows

SCENARIO = {"id": "a-1", "user_message": "Hello?", "response": "Hi.", "expect": {"role": "accept"}}


@pytest.fixture
def write(tmp_path):
    def written(name, *scenarios, **more):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({"family": path.stem, "scenarios": list(scenarios)} | more))
        return path

    return written


@pytest.fixture
def rows(tmp_path):
    def written(*lines, name="rows.jsonl"):
        path = tmp_path / name
        path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
        return path

    return written


def problems(read, *paths):
    """Return what is wrong, with the folder cut off."""
    with pytest.raises(ScenarioError) as caught:
        read(*paths)
    folder = f"{(paths[0][0] if isinstance(paths[0], list) else paths[0]).parent}/"
    return [problem.replace(folder, "") for problem in caught.value.problems]


# Families


def test_shorthands_are_taken(write):
    """One verdict or several, `{user: ...}` for a message, bare texts for sources."""
    shorthand = SCENARIO | {
        "history": [{"user": "Hi"}, {"role": "assistant", "content": "Hello."}],
        "sources": ["Some text.", {"id": "s", "text": "More."}],
        "expect": {"role": "warn", "transparency": ["warn", "reject"]},
    }
    (one,) = load(write("a.yaml", shorthand)).scenarios
    assert [(e.role, e.content) for e in one.history] == [("user", "Hi"), ("assistant", "Hello.")]
    assert [(s.id, s.text) for s in one.sources] == [("source-1", "Some text."), ("s", "More.")]
    assert one.expect == {"role": {"warn"}, "transparency": {"warn", "reject"}}


def test_family_comes_back_as_it_was_written(write, tmp_path):
    """Through YAML and back, with everything that can be said of one."""
    twin = SCENARIO | {"id": "a-2", "tags": ["twin-of:a-1"], "note": "why", "citations": ["s"]}
    twin |= {"response": "Two\nlines: # no comment", "expect": {"role": ["reject", "warn"]}}
    family = load(write("a.yaml", SCENARIO, twin, split="holdout", role="A bot.", sensitive_topics=["money"]))
    (tmp_path / "b.yaml").write_text(dumps(family))
    assert load(tmp_path / "b.yaml") == family


def test_knowledge_base_is_looked_for_beside_the_file(write, tmp_path):
    """From wherever it is read."""
    assert load(write("sub/a.yaml", SCENARIO, knowledge_base="../kb")).knowledge_base == tmp_path / "sub" / "../kb"


FAULTS = [
    ({"colour": "red"}, "a-1: colour: is not a known key; check the spelling or remove it"),
    (
        {"expect": {"role": "unjudged"}},
        "a-1: expect.role: invalid value 'unjudged': expected 'accept', 'warn' or 'reject'",
    ),
    (
        {"expect": {"role": []}},
        "a-1: expect: role: the list is empty: expected accept, warn or reject, or a list of correct verdicts",
    ),
    ({"expect": "reject"}, "a-1: expect: invalid value 'reject': expected a mapping"),
    ({"history": [{"user": ""}]}, "a-1: history.0: is empty"),
    ({"sources": [{"id": "s"}]}, "a-1: sources.0.text: is missing"),
    (
        {"response": " ", "user_message": ""},
        "a-1: the scenario has neither `user_message` nor `response`: judges need at least one",
    ),
    ({"tags": ["twin-of:b-9"]}, "a-1: tags: twin-of:b-9: this family has no scenario of that id"),
    ({"id": "two words"}, "two words: id: invalid value 'two words': expected a text that matches the pattern"),
    ({"id": 7}, "scenarios.0.id: invalid value 7: expected a text"),
]


@pytest.mark.parametrize(("change", "told"), FAULTS, ids=[told for _, told in FAULTS])
def test_fault_is_told_with_file_id_and_field(write, change, told):
    """Whoever wrote it finds the place."""
    (problem,) = problems(load, write("a.yaml", SCENARIO | change))
    assert problem.replace("a.yaml: ", "a.yaml:").startswith(f"a.yaml:{told}")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"split": "test"}, "a.yaml: split: invalid value 'test': expected 'dev' or 'holdout'"),
        ({"scenarios": []}, "a.yaml: scenarios: is empty"),
        ({"scenarios": ["a"]}, "a.yaml: scenarios.0: invalid value 'a': expected a mapping"),
        ({"judges": []}, "a.yaml: judges: is not a known key"),
        ({"scenarios": [SCENARIO, SCENARIO, SCENARIO | {"id": "b"}]}, "a.yaml: a-1: id: duplicate"),
    ],
    ids=str,
)
def test_fault_of_a_family_is_told_with_file_and_field(write, change, told):
    """Also when no scenario is at fault."""
    (problem,) = problems(load, write("a.yaml", SCENARIO, **change))
    assert problem.startswith(told)


def test_every_fault_of_every_file_is_told_at_once(write):
    """One run names them all: nobody mends a folder one error at a time."""
    first = write(
        "a.yaml", SCENARIO | {"colour": 1, "expect": {"role": "no"}}, SCENARIO | {"id": "a-2", "note": 5}, SCENARIO
    )
    second = write("b.yaml", SCENARIO | {"tags": ["twin-of:x", "twin-of:y"]})
    third = first.with_name("c.yaml")
    third.write_text("family: [")
    told = "\n".join(problems(load_all, [first, second, third]))
    for said in (
        "a.yaml: a-1: id: duplicate", "a.yaml: a-1: colour: is not", "a.yaml: a-1: expect.role: invalid",
        "a.yaml: a-2: note: invalid value 5", "b.yaml: a-1: tags: twin-of:x", "a-1: tags: twin-of:y",
        "c.yaml:1:10: not valid YAML",
    ):  # fmt: skip
        assert said in told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"- a", "expected a mapping: a family of scenarios has the keys family, split,"),
        (b"\xff\xfe", "is not UTF-8 text (byte 0)"),
        (b"a: {", "1:5: not valid YAML"),
        (b"day: 2026-02-31", "not valid YAML"),
    ],
)
def test_file_of_something_else_is_told(tmp_path, content, told):
    """By name, with what it should hold."""
    (tmp_path / "a.yaml").write_bytes(content)
    (problem,) = problems(load, tmp_path / "a.yaml")
    assert problem.replace("a.yaml: ", "a.yaml:").startswith(f"a.yaml:{told}")


def test_missing_file_and_empty_folder_are_told(tmp_path):
    """Both, though there is nothing to read in either."""
    (tmp_path / "empty").mkdir()
    assert problems(load_all, [tmp_path / "gone.yaml", tmp_path / "empty"]) == [
        "gone.yaml: cannot be read: No such file or directory",
        "empty: found no .yaml or .jsonl file",
    ]


def test_ids_and_families_are_unique_across_files(write):
    """Else two would be resampled as one, or one answer taken for another's."""
    first, second = write("a.yaml", SCENARIO), write("b.yaml", SCENARIO, family="a")
    assert problems(load_all, [first, second]) == [
        "b.yaml: family: 'a' is also in a.yaml: a family must be in one file",
        "b.yaml: a-1: id: duplicate, also in a.yaml",
    ]


def test_folder_is_read_with_what_is_below(write, rows):
    """YAML and rows, in the order of their names."""
    first = write("a.yaml", SCENARIO)
    write("sub/b.yml", SCENARIO | {"id": "b-1"})
    rows({"response": "x"}, name="c.jsonl")
    assert [one.family.scenarios[0].id for one in load_all([first.parent])] == ["a-1", "c-1", "b-1"]


def test_shipped_scenarios_can_be_read():
    """Every one of them, and each judge has cases of both kinds somewhere."""
    from judges.evaluation.shipped_scenarios import SCENARIOS

    read = load_all([SCENARIOS])
    for judge in ("source_fidelity", "transparency", "role", "emergency"):
        labels = [s.expect[judge] for one in read for s in one.family.scenarios if judge in s.expect]
        assert {"accept" in label for label in labels} == {True, False}


# Rows


def test_row_of_only_response_and_sources_suffices(rows):
    """It is called after its line, has no label, and is a family of its own."""
    first, second = load_rows(
        rows({"response": "Hi.", "sources": "Text."}, "", {"response": "Ho.", "sources": ["A", "B"]})
    )
    assert (first.family, first.scenarios[0].id, first.scenarios[0].expect) == ("rows-1", "rows-1", {})
    assert (second.family, [s.text for s in second.scenarios[0].sources]) == ("rows-3", ["A", "B"])


def test_rows_are_put_to_their_families(rows, tmp_path):
    """With what rows say of these; nulls, as exports write them, are as if they were not there."""
    row = {"family": "f", "response": "x", "expect": {"role": "accept"}, "note": None, "split": None}
    (family,) = load_rows(rows(row | {"id": 1}, row | {"id": 2, "split": "holdout", "knowledge_base": "kb"}))
    assert (family.family, family.split, family.knowledge_base) == ("f", "holdout", tmp_path / "kb")
    assert [s.id for s in family.scenarios] == ["1", "2"]


def test_byte_order_mark_is_taken(tmp_path):
    """Some programs write one before everything."""
    (tmp_path / "rows.jsonl").write_text('{"response": "x"}', encoding="utf-8-sig")
    assert load_rows(tmp_path / "rows.jsonl")[0].scenarios[0].response == "x"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("{", "invalid JSON at column 2: "),
        ("[1]", "expected an object with keys such as response, sources, expect"),
        ({"response": "x", "answer": "y"}, "answer: is not a known key; check the spelling or remove it"),
        ({"response": 5}, "response: invalid value 5: expected a text"),
        ({"sources": ["a"]}, "the scenario has neither `user_message` nor `response`"),
        ({"response": "x", "id": "no good"}, "id: invalid value 'no good': expected a text that matches the pattern"),
        ({"response": "x", "id": "fine"}, "id: duplicate 'fine', first used in line 1"),
        ({"response": "x", "tags": ["twin-of:fine"]}, "tags: twin-of:fine: this family has no scenario of that id"),
        (
            {"response": "x", "family": "fine", "split": "dev"},
            "split: differs from an earlier row of the family 'fine'",
        ),
    ],
    ids=str,
)
def test_bad_row_is_told_by_line_and_field(rows, row, told):
    """The good ones around it are no help without it."""
    path = rows({"id": "fine", "response": "x", "split": "holdout"}, "", row, {"response": "x"})
    (problem,) = problems(load_rows, path)
    assert problem.startswith(f"rows.jsonl:3: {told}")


def test_every_bad_row_is_told(rows):
    """At once."""
    told = problems(load_rows, rows("{", {"response": 1}, {"response": "x", "colour": 1, "expect": 5}))
    assert [problem.split(": ")[0] for problem in told] == ["rows.jsonl:1", "rows.jsonl:2", *["rows.jsonl:3"] * 2]


def test_file_without_rows_is_told(rows):
    """Empty lines are none."""
    assert problems(load_rows, rows("", " ")) == ["rows.jsonl: the file has no rows"]


def test_family_made_in_code_is_checked_as_well():
    """A twin that is not there is refused whoever builds it."""
    with pytest.raises(ValueError, match="twin-of:b: this family has no scenario"):
        Family.model_validate({"family": "f", "scenarios": [SCENARIO | {"tags": ["twin-of:b"]}]})

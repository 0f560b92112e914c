"""Tables of other people's data become scenarios, and scenarios go out as tables and come back the same."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.exchange import ImportPlan, LabelColumn, export, load, parse_labels
from scenarios.files import ScenarioError
from scenarios.scenario import Earlier, Family, InlineSource, Scenario
from scenarios.scenario_files import FamilyFile, load_all, load_rows
from scenarios.tables import read

SUPPORTED = {"supported": ["accept"], "hallucinated": ["reject"]}


@pytest.fixture
def file(tmp_path):
    """Write a file of a name; rows go as JSON lines."""

    def written(name, content):
        if isinstance(content, list):
            content = "".join(f"{json.dumps(row)}\n" for row in content)
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


@pytest.fixture
def parquet(tmp_path):
    """Write rows as Parquet, as their publishers do."""
    import datasets

    def written(rows, features=None):
        path = tmp_path / "rows.parquet"
        datasets.disable_progress_bars()
        datasets.Dataset.from_list(rows, features=features).to_parquet(path)
        return path

    return written


def scenarios(path, plan=None, **more):
    return [one for family in load(path, plan or ImportPlan(), **more).families for one in family.scenarios]


def problems(path, plan=None):
    with pytest.raises(ScenarioError) as caught:
        load(path, plan or ImportPlan())
    return [problem.replace(f"{path.parent}/", "") for problem in caught.value.problems]


# Formats


def test_each_format_gives_the_same_scenarios(file, parquet):
    """Whatever somebody publishes in."""
    rows = [{"response": "Yes.", "context": 'He said "no", twice.'}, {"response": "No.", "context": "b"}]
    paths = [
        file("a.jsonl", rows),
        file("a.json", json.dumps(rows)),
        file("b.json", json.dumps({"version": 1, "data": rows})),
        file("a.csv", 'response,context\nYes.,"He said ""no"", twice."\nNo.,b\n'),
        file("b.csv", '\ufeffresponse;context\r\nYes.;"He said ""no"", twice."\r\nNo.;b\r\n'),
        file("a.tsv", 'response\tcontext\nYes.\t"He said ""no"", twice."\nNo.\tb\n'),
        parquet(rows),
    ]
    for path in paths:
        first, second = scenarios(path, ImportPlan({"sources": "context"}))
        assert first.sources == (InlineSource(id="source-1", text='He said "no", twice.'),), path
        assert (second.id, second.response) == (f"{path.stem}-2", "No.")


def test_format_can_be_said(file):
    """For files whose ending tells nothing."""
    path = file("rows.txt", "response\na\n")
    assert problems(path) == ["rows.txt: unknown extension '.txt': expected .jsonl, .json, .csv, .tsv or .parquet"]
    assert scenarios(path, format="csv")[0].response == "a"


def test_quotation_marks_in_a_tsv_that_quotes_nothing_are_text(file):
    """Else one at the beginning of a field would swallow the rows that follow."""
    path = file("a.tsv", 'response\tsources\n"the king" is what\tb\n"Bring It On\tthe "king".\nc\td\n')
    assert [one.response for one in scenarios(path)] == ['"the king" is what', '"Bring It On', "c"]


def test_texts_that_look_like_something_else_stay_texts(file):
    """`NA`, 007 and a date are what somebody wrote."""
    path = file("a.csv", "id,response\n007,NA\n1e5,null\n8,2026-01-31\n")
    assert [(one.id, one.response) for one in scenarios(path)] == [("007", "NA"), ("1e5", "null"), ("8", "2026-01-31")]
    path = file("b.jsonl", [{"id": 7, "response": "2026-01-31T00:00:00Z"}, {"id": "x", "response": "1"}])
    assert [(one.id, one.response) for one in scenarios(path)] == [("7", "2026-01-31T00:00:00Z"), ("x", "1")]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "", "a.csv: the file has no rows"),
        ("a.csv", "response,b\n", "a.csv: the file has no rows"),
        ("a.csv", "response,b\n1,2,3\n4,5,6\n", "a.csv: cannot be read: Length of header or names does not match"),
        (
            "a.csv",
            "response,b\n1,2\n4,5,6\n",
            "a.csv: cannot be read: Error tokenizing data. C error: Expected 2 fields",
        ),
        ("a.csv", 'response,b\n1,"2\n', "a.csv: cannot be read: Error tokenizing data. C error: EOF inside string"),
        ("a.csv", "response,response\n1,2\n", "a.csv: duplicate column 'response': rename one"),
        ("a.csv", b"response\n\xff\n", "a.csv: is not UTF-8 text (byte 9)"),
        ("a.jsonl", '{"response": "a"}\n{\n', "a.jsonl:2: invalid JSON at column 2: "),
        ("a.jsonl", '{"response": "a"}\n\n[1]\n', "a.jsonl:3: expected an object"),
        ("a.jsonl", "\n", "a.jsonl: the file has no rows"),
        ("a.json", "[1]", "a.json: row 1: expected an object"),
        ("a.json", "[", "a.json: invalid JSON at column 2: "),
        ("a.parquet", b"PAR1", "a.parquet: cannot be read: "),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_one_line(file, name, content, told):
    """By name, with what is wrong in it."""
    (problem,) = problems(file(name, content))
    assert problem.startswith(told)


def test_missing_file_is_told(tmp_path):
    """Of every format."""
    for ending in ("csv", "jsonl", "parquet"):
        assert problems(tmp_path / f"a.{ending}") == [f"a.{ending}: cannot be read: No such file or directory"]


def test_names_that_are_patterns_elsewhere_are_names(file):
    """Brackets and asterisks in a file's name match nothing else."""
    path = file("a[1]*.csv", "response\na\n")
    assert scenarios(path)[0].response == "a"


# Columns


def test_columns_of_the_fields_own_names_need_no_map(file):
    """All of them; what is empty counts as not there."""
    row = {"id": "a", "family": "f", "split": "holdout", "user_message": "u", "response": "r", "citations": ["c"]}
    row |= {"sources": [{"id": "s", "text": "t"}, "x"], "tags": ["t"], "note": "n", "history": [{"user": "h"}]}
    row |= {"expect": {"role": "warn"}, "role": "not ours", "colour": "red"}
    made = load(file("a.jsonl", [row, {"response": "x", "id": None, "note": ""}]), ImportPlan())
    assert made.unused == ["role", "colour"]
    first, second = made.families
    assert (first.family, first.split, first.role) == ("f", "holdout", None)
    (one,) = first.scenarios
    assert (one.user_message, one.citations, one.tags, one.note) == ("u", ("c",), ("t",), "n")
    assert one.history == (Earlier(role="user", content="h"),)
    assert [source.text for source in one.sources] == ["t", "x"]
    assert one.expect == {"role": {"warn"}}
    assert second == Family(family="a-2", scenarios=(Scenario(id="a-2", response="x"),))


def test_mapped_column_goes_before_one_of_the_fields_name(file):
    """And an empty mapping leaves the field out: a set's own splits are not ours."""
    path = file("a.jsonl", [{"response": "no", "answer": "yes", "split": "train"}])
    (one,) = load(path, ImportPlan({"response": "answer", "split": ""})).families
    assert (one.split, one.scenarios[0].response) == ("dev", "yes")
    assert problems(path) == ["a.jsonl: row 1: split: invalid value 'train': expected 'dev' or 'holdout'"]


def test_sources_come_from_texts_lists_and_several_columns(file, parquet):
    """In the columns' order; empty ones are none."""
    rows = [{"response": "x", "a": "A", "b": ["B", "", "C"]}, {"response": "x", "a": None, "b": ["D"]}]
    for path in (file("a.jsonl", rows), parquet(rows)):
        first, second = scenarios(path, ImportPlan({"sources": "b,a"}))
        assert [(source.id, source.text) for source in first.sources] == [
            ("source-1", "B"), ("source-2", "C"), ("source-3", "A")
        ]  # fmt: skip
        assert [source.text for source in second.sources] == ["D"]


def test_a_source_in_brackets_is_a_text(file):
    """Only JSON is taken apart."""
    path = file("a.csv", 'response,sources\nx,[citation needed]\nx,"[1] Berg, 2026"\nx,"[""a"", ""b""]"\n')
    assert [[s.text for s in one.sources] for one in scenarios(path)] == [
        ["[citation needed]"], ["[1] Berg, 2026"], ["a", "b"]
    ]  # fmt: skip


def test_column_with_a_comma_in_its_name_is_found(file):
    """Before it is taken for two."""
    path = file("a.jsonl", [{"response": "x", "a,b": "A"}])
    assert [source.text for source in scenarios(path, ImportPlan({"sources": "a,b"}))[0].sources] == ["A"]


def test_missing_column_is_told_with_those_there_are(file):
    """Of a mapping and of a label."""
    path = file("a.jsonl", [{"reply": "x", "context": "y"}])
    plan = ImportPlan({"response": "answer"}, LabelColumn("role", "right", SUPPORTED))
    assert problems(path, plan) == ["a.jsonl: the table has no column 'answer', 'right' (columns: reply, context)"]
    assert problems(path) == [
        "a.jsonl: no column `response` or `user_message` in the table: map one with --map (columns: reply, context)"
    ]


def test_a_family_of_any_text_keeps_its_rows_together(file):
    """Titles and addresses are made to ids, different ones to different ids."""
    rows = [{"response": "x", "doc": doc} for doc in ("Food & mood", "Food/mood!", "Food & mood", 7)]
    families = load(file("a.jsonl", rows), ImportPlan({"family": "doc"})).families
    assert [len(family.scenarios) for family in families] == [2, 1, 1]
    assert families[0].family.startswith("Food-mood-")
    assert families[2].family == "7"


def test_fault_in_a_row_is_told_by_row_and_field(file):
    """Every one at once; rows are counted without the header."""
    path = file("a.csv", "id,response,split,expect_role\na,x,,maybe\na,,,\nb,y,test,\n")
    assert problems(path) == [
        "a.csv: row 1: expect.role.0: invalid value 'maybe': expected 'accept', 'warn' or 'reject'",
        "a.csv: row 2: id: duplicate 'a', first used in row 1",
        "a.csv: row 2: the scenario has neither `user_message` nor `response`: judges need at least one of them",
        "a.csv: row 3: split: invalid value 'test': expected 'dev' or 'holdout'",
    ]


def test_reply_that_is_no_text_is_told(file):
    """A conversation as a list is not made to a text that nobody wrote."""
    (problem,) = problems(file("a.jsonl", [{"response": [{"role": "user"}]}]))
    assert problem == "a.jsonl: row 1: response: expected a text"


def test_half_a_character_is_told(file, tmp_path):
    """JSON can hold what no file of texts can: coming in and going out."""
    path = file("a.jsonl", '{"response": "\\ud800"}')
    assert problems(path) == [
        "a.jsonl: row 1: contains a lone surrogate (half of a character), which cannot be written as UTF-8"
    ]
    with pytest.raises(ScenarioError, match="half of a character"):
        export(load_all([path]), tmp_path / "a.csv")


# Labels


@pytest.mark.parametrize(
    ("value", "labels", "right"),
    [
        ("Supported ", "supported=accept", {"accept"}),
        ("no", "yes=accept, NO = warn | reject", {"warn", "reject"}),
        ("a, b", "a, b=reject", {"reject"}),
        ("x=1", "x=1=warn", {"warn"}),
        (1, "1=accept,0=reject", {"accept"}),
        (0, "1=accept,0=reject", {"reject"}),
        (1.0, "1=accept", {"accept"}),
        ("1.0", "1=accept", {"accept"}),
        (0.5, "0.5=warn", {"warn"}),
        (True, "1=accept,0=reject", {"accept"}),
        (False, "true=accept,false=reject", {"reject"}),
        ("TRUE", "1=accept", {"accept"}),
    ],
)
def test_label_is_compared_as_text(file, value, labels, right):
    """Case folded; truth values and whole numbers by either spelling."""
    path = file("a.jsonl", [{"response": "x", "label": value}])
    (one,) = scenarios(path, ImportPlan(label=LabelColumn("role", "label", parse_labels(labels))))
    assert one.expect == {"role": right}


def test_label_of_a_class_is_known_by_its_name(parquet):
    """Published sets hold numbers, and the names beside them."""
    import datasets

    features = datasets.Features(
        {"response": datasets.Value("string"), "label": datasets.ClassLabel(names=["hallucinated", "supported"])}
    )
    path = parquet([{"response": "x", "label": 1}, {"response": "y", "label": 0}], features)
    for labels in ("supported=accept,hallucinated=reject", "1=accept,0=reject"):
        plan = ImportPlan(label=LabelColumn("role", "label", parse_labels(labels)))
        assert [one.expect["role"] for one in scenarios(path, plan)] == [{"accept"}, {"reject"}]


def test_row_without_a_known_label_is_a_fault_or_skipped(file):
    """Rows keep their numbers, in faults and in ids."""
    rows = [{"response": "x", "label": label} for label in ("generic", None, "supported")]
    path, label = file("a.jsonl", rows), LabelColumn("role", "label", SUPPORTED)
    assert problems(path, ImportPlan(label=label)) == [
        "a.jsonl: row 1: label: 'generic': expected one of 'supported', 'hallucinated'",
        "a.jsonl: row 2: label: None: expected one of 'supported', 'hallucinated'",
    ]
    made = load(path, ImportPlan(label=label, skip_unlabelled=True))
    assert (made.skipped, [family.family for family in made.families]) == (2, ["a-3"])


def test_set_without_any_known_label_is_a_fault(file):
    """Nothing would be left."""
    path = file("a.jsonl", [{"response": "x", "label": "y"}])
    plan = ImportPlan(label=LabelColumn("role", "label", SUPPORTED), skip_unlabelled=True)
    assert problems(path, plan) == ["a.jsonl: no row has a mapped label; 1 rows were skipped"]


def test_label_goes_before_what_the_row_expects(file):
    """For its judge only."""
    row = {
        "response": "x",
        "label": 1,
        "expect": {"role": "reject", "transparency": "warn"},
        "expect_emergency": "accept",
    }
    (one,) = scenarios(file("a.jsonl", [row]), ImportPlan(label=LabelColumn("role", "label", {"1": ["accept"]})))
    assert one.expect == {"role": {"accept"}, "transparency": {"warn"}, "emergency": {"accept"}}


@pytest.mark.parametrize(
    "text", ["", "supported", "a=accept,b", "a=good", "a=accept|good", "=accept", "a=accept,A=warn"]
)
def test_labels_that_say_nothing_are_refused(text):
    """Before any row is read."""
    with pytest.raises(ValueError, match=r"expected VALUE=accept|is empty|duplicate value"):
        parse_labels(text)


# There and back


text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
word = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,9}", fullmatch=True)
scenario = st.builds(
    Scenario,
    id=word,
    user_message=text.filter(str.strip),
    history=st.lists(st.builds(Earlier, role=st.sampled_from(["user", "assistant"]), content=text), max_size=2).map(
        tuple
    ),
    response=st.just("") | text,
    citations=st.lists(text.filter(str.strip), max_size=3).map(tuple),
    sources=st.lists(
        st.builds(InlineSource, id=word, title=st.just("") | text, text=text.filter(str.strip)), max_size=2
    ).map(tuple),
    expect=st.dictionaries(word, st.frozensets(st.sampled_from(["accept", "warn", "reject"]), min_size=1), max_size=2),
    tags=st.lists(text.filter(str.strip).filter(lambda tag: not tag.startswith("twin-of:")), max_size=3).map(tuple),
    note=st.just("") | text,
)
family = st.builds(
    Family,
    family=word,
    split=st.sampled_from(["dev", "holdout"]),
    role=st.none() | text,
    sensitive_topics=st.none() | st.lists(text, max_size=2).map(tuple),
    scenarios=st.lists(scenario, min_size=1, max_size=2, unique_by=lambda one: one.id).map(tuple),
)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@settings(max_examples=25, deadline=None)
@given(one=family)
def test_what_is_exported_comes_back_the_same(ending, one):
    """Line breaks, marks and separators in texts included."""
    with tempfile.TemporaryDirectory() as folder:
        path, rows = Path(folder) / f"a.{ending}", Path(folder) / "b.jsonl"
        export([FamilyFile(one, path)], path)
        made = load(path, ImportPlan())
        rows.write_text(made.text, encoding="utf-8", newline="")
        assert made.families == [one]
        assert load_rows(rows) == [one]


def test_shipped_scenarios_come_back_the_same(tmp_path):
    """Knowledge bases too, which are named relative to each file."""
    from judges.evaluation.shipped_scenarios import SCENARIOS

    shipped = load_all([SCENARIOS])
    (tmp_path / "sub").mkdir()
    export(shipped, tmp_path / "sub" / "all.csv")
    out = tmp_path / "back.jsonl"
    out.write_text(load(tmp_path / "sub" / "all.csv", ImportPlan(), out=out).text)

    def whole(families):
        bases = [base and base.resolve() for base in (family.knowledge_base for family in families)]
        return [
            (family.model_copy(update={"knowledge_base": base})) for family, base in zip(families, bases, strict=True)
        ]

    assert whole(load_rows(out)) == whole([one.family for one in shipped])


def test_exported_columns_can_be_read_by_people(tmp_path):
    """Flat: verdicts and tags with | between, history and sources as JSON."""
    one = Scenario(
        id="a",
        response="r",
        history=(Earlier(role="user", content="hé"),),
        citations=("c", "d"),
        sources=(InlineSource(id="s", text="t"),),
        tags=("x|y",),
        expect={"role": frozenset(["reject", "warn"])},
    )
    export([FamilyFile(Family(family="f", scenarios=(one,)), tmp_path)], tmp_path / "a.csv")
    table = read(tmp_path / "a.csv")
    assert next(table.select(table.columns)) == {
        "id": "a",
        "family": "f",
        "split": "dev",
        "user_message": "",
        "history": '[{"user": "hé"}]',
        "response": "r",
        "citations": "c|d",
        "sources": '[{"id": "s", "text": "t"}]',
        "tags": '["x|y"]',
        "note": "",
        "expect_role": "warn|reject",
    }


# What is left behind


def test_exported_file_is_its_owners_and_not_overwritten(tmp_path):
    """Unless somebody says so."""
    (path, one) = tmp_path / "a.parquet", Family(family="f", scenarios=(Scenario(id="a", response="r"),))
    export([FamilyFile(one, path)], path)
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    with pytest.raises(ScenarioError, match="already exists"):
        export([FamilyFile(one, path)], path)
    assert path.read_bytes() == before
    export([FamilyFile(one.model_copy(update={"split": "holdout"}), path)], path, overwrite=True)
    assert path.read_bytes() != before
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


def test_no_row_stays_in_a_cache(file, tmp_path, monkeypatch):
    """Neither in the library's own folder nor in that for temporary files, nor does the environment change."""
    for name in ("temporary", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    before = dict(os.environ)
    scenarios(file("a.csv", "response\na\n"))
    problems(file("a.csv", 'response\n"a\n'))
    assert [*(tmp_path / "temporary").rglob("*"), *(tmp_path / "home").rglob("*")] == []
    assert dict(os.environ) == before

"""`caf scenario import` and `export`: what other people labelled can be judged, and ours goes out."""

import json
from pathlib import Path

import pytest

from scenarios.tables import read
from tests.cli.conftest import Caf

BEGIN = """\
model\tknowledge\tmessage\tresponse\tbegin_label
t5\tCalled "the king", he sang.\tWho was he?\tHe was called "the king".\tFully attributable
t5\tA cardigan is a knitted garment with an open front.\tWhat is it?\tIt costs 90 dollars in Ohio.\tNot fully attributable
gpt\tA cardigan is knitted.\tAnd?\tWhat do you think?\tGeneric
"""
LABELS = ("--judge", "source_fidelity", "--label", "begin_label", "--labels")
MAPPED = ("--map", "sources=knowledge", "--map", "user_message=message")
BOTH = "Fully attributable=accept,Not fully attributable=reject"


@pytest.fixture
def begin(tmp_path: Path) -> Path:
    """Write a small set in the shape of a public one."""
    path = tmp_path / "begin.tsv"
    path.write_text(BEGIN)
    return path


def test_a_public_set_can_be_judged_as_it_is(caf: Caf, begin: Path, tmp_path: Path) -> None:
    """Import and evaluation in two commands, without a key, and nothing beside the file is left."""
    ended = caf("scenario", "import", "begin.tsv", *MAPPED, *LABELS, BOTH, "--skip-unlabelled", "--out", "begin.jsonl")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == (
        "wrote begin.jsonl: 2 scenarios in 2 families; skipped 1 rows without a label\ncaf: unused columns: model\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begin.jsonl", "begin.tsv"]
    ended = caf("judges", "eval", "--judge", "source_fidelity", "--stage", "local", "--data", "begin.jsonl", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)


def test_without_out_the_rows_are_printed(inside: Caf, begin: Path) -> None:
    """As rows and nothing else, so that they can be piped."""
    ended = inside("scenario", "import", "begin.tsv", *MAPPED, "--family", "model")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [(row["id"], row["family"]) for row in rows] == [("begin-1", "t5"), ("begin-2", "t5"), ("begin-3", "gpt")]
    assert ended.err.startswith("caf: 3 scenarios in 2 families\n")


def test_many_faults_are_told_in_part(inside: Caf, tmp_path: Path) -> None:
    """A set of the wrong kind has one in every row."""
    (tmp_path / "a.csv").write_text("response,split\n" + "x,train\n" * 50)
    lines = inside("scenario", "import", "a.csv").err.splitlines()
    assert (len(lines), lines[-1]) == (21, "caf: and 30 more problems")


def test_files_are_their_owners_and_not_overwritten(inside: Caf, begin: Path, tmp_path: Path) -> None:
    """Of both verbs; --overwrite replaces them."""
    out, table = tmp_path / "begin.jsonl", tmp_path / "all.csv"
    for given, file in (
        (("import", "begin.tsv", *MAPPED, "--out", "begin.jsonl"), out),
        (("export", "begin.jsonl", "--out", "all.csv"), table),
    ):
        assert inside("scenario", *given).code == 0
        assert file.stat().st_mode & 0o777 == 0o600
        whole = file.read_text()
        file.write_text("mine")
        ended = inside("scenario", *given)
        assert (ended.code, file.read_text()) == (2, "mine")
        assert ended.err == f"caf: {file.name}: already exists: give another name, or --overwrite\n"
        assert inside("scenario", *given, "--overwrite").code == 0
        assert (file.read_text(), file.stat().st_mode & 0o777) == (whole, 0o600)


def test_the_shipped_scenarios_are_exported_by_default(inside: Caf, tmp_path: Path) -> None:
    """With a column for each judge."""
    assert inside("scenario", "export", "--out", "all.csv").code == 0
    assert {"expect_role", "expect_emergency"} <= set(read(tmp_path / "all.csv").columns)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("begin.tsv", "--out", "a.json"), "--out: a.json: expected a .jsonl file"),
        (("begin.tsv", "--map", "response"), "--map: 'response': expected FIELD=COLUMN, as in response=answer"),
        (("begin.tsv", "--map", "reply=a"), "--map: unknown field 'reply' (fields: id, family, split,"),
        (("begin.tsv", "--map", "id=a", "--map", "id=b"), "--map: duplicate field id"),
        (("begin.tsv", "--map", "family=a", "--family", "b"), "--map: duplicate field family"),
        (("begin.tsv", "--judge", "role"), "--judge, --label and --labels: give all three"),
        (("begin.tsv", "--skip-unlabelled"), "--skip-unlabelled: needs --judge"),
        (("begin.tsv", *LABELS, "yes"), "--labels: 'yes': expected VALUE=accept"),
        (
            ("begin.tsv", "--map", "sources=k"),
            "begin.tsv: the table has no column 'k' (columns: model, knowledge, message,",
        ),
        (("gone.csv",), "gone.csv: cannot be read: No such file or directory"),
        (("begin.tsv", "--out", "gone/a.jsonl"), "gone/a.jsonl: cannot be written: No such file or directory"),
    ],
)
def test_wrong_usage_is_told_in_one_line(inside: Caf, begin: Path, given: tuple[str, ...], told: str) -> None:
    """Exit code 2, and nothing on standard output."""
    ended = inside("scenario", "import", *given)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"caf: {told}")
    assert ended.err.count("\n") == 1


@pytest.fixture
def tone(tmp_path: Path) -> Path:
    """Write a configuration with a judge of its own."""
    (tmp_path / "tone.md").write_text("---\nname: tone\nstage: swift\nmodel: m\nobservation: verdict\n---\nJudge.\n")
    path = tmp_path / "clinic.yaml"
    path.write_text(
        "models: {m: {engine: embedded}}\nchatbots:\n  bot: {model: m, role: Answers., refiner: null, "
        "emergency: {contact: Call 112.}, judges: [tone.md]}\n"
    )
    return path


@pytest.mark.parametrize(
    ("judge", "options", "nearest"),
    [
        ("source_fidelty", [], "; did you mean 'source_fidelity'?"),
        ("tone", [], ""),
        ("tonne", ["--config", "clinic.yaml"], "; did you mean 'tone'?"),
    ],
)
def test_labels_for_a_judge_that_nobody_has_are_refused(
    inside: Caf, begin: Path, tone: Path, tmp_path: Path, judge: str, options: list[str], nearest: str
) -> None:
    """They would count for nobody, unnoticed; nothing is written."""
    given = ("begin.tsv", "--judge", judge, *LABELS[2:], BOTH, "--skip-unlabelled", "--out", "begin.jsonl")
    ended = inside("scenario", "import", *given, *options)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"caf: --judge: {judge!r}: unknown judge (configured or built in: source_fidelity, ")
    assert ended.err.endswith(f"){nearest}\n")
    assert not (tmp_path / "begin.jsonl").exists()


def test_labels_may_be_for_a_judge_of_the_configuration(inside: Caf, begin: Path, tone: Path, tmp_path: Path) -> None:
    """Which is not looked at for those that are built in."""
    given = ("scenario", "import", "begin.tsv", *LABELS[2:], BOTH, "--skip-unlabelled")
    assert inside(*given, "--judge", "tone", "--config", "clinic.yaml").code == 0
    faulty = tmp_path / "faulty.yaml"
    faulty.write_text("colour: red\n")
    assert inside(*given, "--judge", "role", "--config", "faulty.yaml").code == 0
    ended = inside(*given, "--judge", "tone", "--config", "faulty.yaml")
    assert (ended.code, "faulty.yaml: colour: is not a known key" in ended.err) == (2, True)


def test_export_tells_what_it_cannot_do(inside: Caf, tmp_path: Path) -> None:
    """An ending that names no format, a file with faults."""
    (tmp_path / "rows.jsonl").write_text('{"reply": "x"}\n')
    ended = inside("scenario", "export", "rows.jsonl", "--out", "a.csv")
    assert (ended.code, ended.err.splitlines()[0]) == (
        2, "caf: rows.jsonl:1: reply: is not a known key; check the spelling or remove it"
    )  # fmt: skip
    (tmp_path / "rows.jsonl").write_text('{"response": "x"}\n')
    ended = inside("scenario", "export", "rows.jsonl", "--out", "a.xlsx")
    assert (ended.code, ended.err) == (2, "caf: a.xlsx: unknown extension '.xlsx': expected .jsonl, .csv or .parquet\n")

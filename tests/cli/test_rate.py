"""`caf rate`: pages go out blind, ratings come back whole or not at all."""

import json
import re
import stat
from pathlib import Path

import pytest

from scoring.folder import RunFolder
from scoring.people.folder import CHECKPOINTS
from scoring.transcript import QUESTIONS, Place, RatingLine
from tests.cli.conftest import Caf
from tests.scoring.people.made_up_run import TELLING, exchange, exchanges, write_run

MODEL = RatingLine(place=exchange().place, rater="model", score=4)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Write a run whose replies a model has rated already."""
    folder = write_run(tmp_path / "run", exchanges(samples=1))
    (folder / "ratings.jsonl").write_text(MODEL.model_dump_json() + "\n")
    return folder


def key(run: Path, rater: str = "anna") -> dict:
    return json.loads((run / f"rating/key-{rater}.json").read_text())


def give(run: Path, rater: str = "anna", score: int | None = 3, page: str | None = None, drop: int = 0) -> Path:
    """Write the file that a rater would download."""
    held = key(run, rater)
    ratings = [{"id": id, "score": score, "answered": 2, "note": "", "seconds": 5.5} for id in held["items"]][drop:]
    file = run.parent / f"ratings-{rater}.json"
    file.write_text(json.dumps({"page": page or held["page"], "rater": rater, "ratings": ratings}))
    return file


def ratings(run: Path) -> list[RatingLine]:
    return [RatingLine.model_validate_json(line) for line in (run / "ratings.jsonl").read_text().splitlines()]


def shown(path: Path) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.DOTALL)[1])


def snapshot(run: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_each_rater_gets_a_blind_page_and_the_run_keeps_the_key(inside: Caf, run: Path) -> None:
    """With the conversation before each reply; pages and keys are for their owner alone."""
    ended = inside("rate", "export", run, "--rater", "anna", "--rater", "ben", "--seed", "7", "--duplicates", "0.25")
    assert ended.code == 0, ended.err
    assert f"wrote {run}/rating/rating-anna.html: 16 replies, 4 of them twice\n" in ended.err
    assert "for more raters with the same replies, give --seed 7" in ended.err
    for name in ("anna", "ben"):
        page = run / f"rating/rating-{name}.html"
        held = shown(page)
        assert [item["id"] for item in held["items"]] == list(key(run, name)["items"])
        assert held["page"] == key(run, name)["page"]
        assert {item["history"][0]["content"] for item in held["items"]} == {"Hello there."}
        assert not [word for word in (*TELLING, "off-arm-only", str(run)) if word in page.read_text()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (run / "rating").iterdir()} == {0o600}
    assert sorted(path.name for path in (run / "rating").iterdir()) == [
        "key-anna.json", "key-ben.json", "rating-anna.html", "rating-ben.html",
    ]  # fmt: skip


def test_a_limit_and_a_folder_can_be_given(inside: Caf, run: Path, tmp_path: Path) -> None:
    """Pages go there; the key stays with the run."""
    ended = inside("rate", "export", run, "--rater", "anna", "--items", 6, "--duplicates", 0, "--out", tmp_path / "go")
    assert ended.code == 0, ended.err
    assert [path.name for path in (tmp_path / "go").iterdir()] == ["rating-anna.html"]
    assert len(key(run)["items"]) == 6


def test_sections_can_be_put_into_the_page(inside: Caf, run: Path, tmp_path: Path) -> None:
    """Who is to say what the sources support needs them."""
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb/sleep.md").write_text("---\nid: sleep\ntitle: Sleep\nsummary: On sleep.\n---\nSleep at night.\n")
    without = inside("rate", "export", run, "--rater", "ben")
    assert "the pages hold no sections to rate against: add them with --knowledge-base DIR" in without.err
    ended = inside("rate", "export", run, "--rater", "anna", "--knowledge-base", tmp_path / "kb")
    assert ended.code == 0, ended.err
    assert "no sections" not in ended.err
    assert shown(run / "rating/rating-anna.html")["sections"]["sleep"]["text"].strip() == "Sleep at night."


def test_only_transcripts_are_needed(inside: Caf, run: Path) -> None:
    """What is lacking is told where it changes what raters see."""
    for name in ("manifest.json", "checkpoints.json", "ratings.jsonl"):
        (run / name).unlink()
    ended = inside("rate", "export", run, "--rater", "anna")
    assert ended.code == 0, ended.err
    assert (
        "checkpoints.json does not have activist-1, dietician-1: raters do not see the start of those conversations"
        in ended.err
    )
    assert inside("rate", "import", run, give(run)).code == 0
    assert len(ratings(run)) == 16


def test_raters_see_what_was_said_before_a_question(inside: Caf, tmp_path: Path) -> None:
    """ "Again, but simpler" means nothing without the reply before it; a question that nothing preceded is no warning."""
    places = [Place(arm="on", facilitator=QUESTIONS, checkpoint=id, sample=0, turn=1) for id in ("again", "plain")]
    run = write_run(tmp_path / "run", [exchange(place=place) for place in places])
    earlier = [{"role": "user", "content": "What is it?"}, {"role": "assistant", "content": "An illness."}]
    (run / "checkpoints.json").write_text(json.dumps({"again": earlier}))
    ended = inside("rate", "export", run, "--rater", "anna", "--duplicates", 0)
    assert CHECKPOINTS not in ended.err
    histories = {
        key(run)["items"][item["id"]]["place"]["checkpoint"]: item["history"]
        for item in shown(run / "rating/rating-anna.html")["items"]
    }
    assert histories == {"again": earlier, "plain": []}
    (run / "checkpoints.json").write_text("{}")
    ended = inside("rate", "export", run, "--rater", "ben")
    assert (
        "checkpoints.json has no ordinary question: raters do not see the messages before ordinary questions"
        in ended.err
    )


def test_a_page_in_work_is_not_made_void(inside: Caf, run: Path) -> None:
    """The same page can be written again; another one takes --replace."""
    inside("rate", "export", run, "--rater", "anna", "--seed", 1)
    before = snapshot(run)
    assert inside("rate", "export", run, "--rater", "anna", "--seed", 1).code == 0
    ended = inside("rate", "export", run, "--rater", "ben", "--rater", "anna", "--seed", 2)
    assert ended.code == 2
    assert "'anna' already has a page of this run (seed 1)" in ended.err
    assert snapshot(run) == before
    assert inside("rate", "export", run, "--rater", "anna", "--seed", 2, "--replace").code == 0
    assert key(run)["seed"] == 2


def test_a_page_of_another_run_is_not_overwritten(inside: Caf, run: Path, tmp_path: Path) -> None:
    """Two runs exported into one folder."""
    other = write_run(tmp_path / "other", exchanges(samples=2))
    out = ("--rater", "anna", "--out", tmp_path)
    assert inside("rate", "export", run, *out).code == 0
    before = snapshot(tmp_path)
    ended = inside("rate", "export", other, *out)
    assert (ended.code, snapshot(tmp_path)) == (2, before)
    assert f"{tmp_path}/rating-anna.html: already exists" in ended.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rater", "../anna"], "--rater '../anna': expected at most 40 letters, digits and ._-"),
        (["--rater", "anna", "--rater", "Anna"], "--rater: duplicate name"),
        (["--rater", "anna", "--duplicates", "0.6"], "--duplicates"),
        (["--rater", "anna", "--knowledge-base", "nowhere"], "nowhere: no such folder"),
        ([], "--rater"),
    ],
)
def test_wrong_usage_of_export_writes_nothing(inside: Caf, run: Path, arguments: list[str], says: str) -> None:
    """And says what would be right."""
    before = snapshot(run)
    ended = inside("rate", "export", run, *arguments)
    assert ended.code == 2
    assert says in ended.err
    assert snapshot(run) == before


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("transcripts.jsonl", None, "there is no such file: give the folder of a run"),
        ("transcripts.jsonl", '{"place": 3}\n', "1: place: invalid value 3: expected"),
        ("transcripts.jsonl", "", "the run has no replies to rate"),
        ("checkpoints.json", "[]", "expected {name: [{role, content}]}"),
        ("checkpoints.json", '{"dietician-1": [{"role": "user"}]}', "expected {name: [{role, content}]}"),
        ("rating/key-anna.json", "{}", "the file is not the key of a page: page: is missing"),
    ],
)
def test_a_damaged_run_is_told_by_file(inside: Caf, run: Path, file: str, text: str | None, says: str) -> None:
    """What is not there is one thing, what is broken another."""
    (run / "rating").mkdir()
    (run / file).write_text(text) if text is not None else (run / file).unlink()
    ended = inside("rate", "export", run, "--rater", "anna")
    assert ended.code == 2
    assert re.search(re.escape(f"{run}/{file}:") + " ?" + re.escape(says), ended.err), ended.err


def test_ratings_are_added_and_what_was_there_stays(inside: Caf, run: Path) -> None:
    """Each rater under an own name; what was rated twice is kept aside."""
    inside("rate", "export", run, "--rater", "anna", "--rater", "ben", "--duplicates", "0.25")
    ended = inside("rate", "import", run, give(run, "anna"), give(run, "ben", score=1))
    assert ended.code == 0, ended.err
    assert ended.out == (
        "human:anna: 16 of 16 replies rated, median 6 s per reply; "
        "of 4 replies rated twice, 4 got the same score and 4 scores that differ by at most 1\n"
        "human:ben: 16 of 16 replies rated, median 6 s per reply; "
        "of 4 replies rated twice, 4 got the same score and 4 scores that differ by at most 1\n"
    )
    held = ratings(run)
    assert held[0] == MODEL
    assert [(one.rater, one.score) for one in held[1:]] == [("human:anna", 3)] * 16 + [("human:ben", 1)] * 16
    assert {one.place.key() for one in held[1:17]} == {one.place.key() for one in exchanges(samples=1)}
    twice = json.loads((run / "rating/self-anna.json").read_text())
    assert twice["rater"] == "anna"
    assert [(pair["first"]["score"], pair["second"]["score"]) for pair in twice["twins"]] == [(3, 3)] * 4
    assert Place.model_validate(twice["twins"][0]["place"]).arm in ("on", "off")


def test_a_second_import_needs_replace_and_replaces_only_that_rater(inside: Caf, run: Path) -> None:
    """Ratings of others, and the model's, stay as they are."""
    inside("rate", "export", run, "--rater", "anna", "--rater", "ben")
    inside("rate", "import", run, give(run, "anna"), give(run, "ben"))
    before = snapshot(run)
    again = give(run, "anna", score=0)
    ended = inside("rate", "import", run, again)
    assert (ended.code, snapshot(run)) == (2, before)
    assert (
        f"{run}/ratings.jsonl: the run already has ratings of human:anna: to replace them, give --replace" in ended.err
    )
    assert inside("rate", "import", run, again, "--replace").code == 0
    held = ratings(run)
    assert held[0] == MODEL
    assert sorted((one.rater, one.score) for one in held[1:]) == [("human:anna", 0)] * 16 + [("human:ben", 3)] * 16


def test_one_faulty_file_keeps_all_out(inside: Caf, run: Path) -> None:
    """Every fault of every file is told, and nothing is written."""
    inside("rate", "export", run, "--rater", "anna", "--rater", "ben", "--duplicates", 0)
    good, short, wrong = give(run, "anna"), give(run, "ben", drop=3), run.parent / "absent.json"
    before = snapshot(run)
    ended = inside("rate", "import", run, good, short, wrong, good)
    assert ended.code == 2
    assert f"{short}: 3 of 16 items are missing a score" in ended.err
    assert f"{wrong}: cannot be read: No such file or directory" in ended.err
    assert f"{good}: 'anna' returned two of the given files" in ended.err
    assert ended.err.endswith("caf: nothing was imported\n")
    assert snapshot(run) == before
    assert inside("rate", "import", run, good, short, "--partial").code == 0
    assert len(ratings(run)) == 1 + 16 + 13


def test_a_file_of_another_run_is_refused(inside: Caf, run: Path, tmp_path: Path) -> None:
    """Its ids would mean other replies."""
    inside("rate", "export", run, "--rater", "anna")
    ended = inside("rate", "import", run, give(run, page="feed"))
    assert ended.code == 2
    assert "page 'feed' of 'anna' does not belong to this run" in ended.err
    other = write_run(tmp_path / "other", exchanges(samples=1))
    ended = inside("rate", "import", other, give(run))
    assert f"{other}/rating: found no key-NAME.json: expected the run that was given to `caf rate export`" in ended.err


def test_damaged_ratings_are_not_rewritten(inside: Caf, run: Path) -> None:
    """A line that cannot be read may be somebody's rating."""
    inside("rate", "export", run, "--rater", "anna")
    (run / "ratings.jsonl").write_text(MODEL.model_dump_json() + '\n{"place": 3}\n')
    file, before = give(run), snapshot(run)
    ended = inside("rate", "import", run, file)
    assert (ended.code, snapshot(run)) == (2, before)
    assert f"{run}/ratings.jsonl:2: " in ended.err


def test_a_line_that_was_cut_off_does_not_stop_the_import(inside: Caf, run: Path) -> None:
    """A run that was killed leaves one; it is passed over by all who read, and still passed over afterwards."""
    inside("rate", "export", run, "--rater", "anna")
    (run / "ratings.jsonl").write_text(MODEL.model_dump_json() + '\n{"place": ')
    ended = inside("rate", "import", run, give(run))
    assert ended.code == 0, ended.err
    held = RunFolder(run).read(RatingLine)
    assert (held[0], len(held)) == (MODEL, 17)


def test_a_write_that_fails_leaves_everything(inside: Caf, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk must not cost the ratings that were there."""
    inside("rate", "export", run, "--rater", "anna")
    file, before = give(run), snapshot(run)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    ended = inside("rate", "import", run, file)
    assert (ended.code, snapshot(run)) == (2, before)
    assert f"{run}/ratings.jsonl: cannot be written: No space left on device" in ended.err

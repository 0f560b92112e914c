"""The folder of a run."""

from pathlib import Path

import pytest

from scoring.folder import RunError, RunFolder
from scoring.transcript import Exchange, Place, RatingLine

PLACE = Place(arm="on", facilitator="f", checkpoint="c", sample=0, turn=1)


def exchange(reply: str, **more: object) -> Exchange:
    return Exchange.model_validate({"place": PLACE, "user_message": "hi", "reply": reply, **more})


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    """Of several lines for one place the last counts: a turn that failed was tried again."""
    folder = RunFolder(tmp_path)
    folder.append(exchange("", error="HTTP 503", outcome="error"))
    folder.append(exchange("Hello.", citations=("a",)))
    assert folder.read(Exchange) == [exchange("Hello.", citations=("a",))]


def test_every_rater_has_a_line(tmp_path: Path) -> None:
    """Raters of one reply do not replace each other."""
    folder = RunFolder(tmp_path)
    for rater, score in (("a", 4), ("b", 2), ("a", 3)):
        folder.append(RatingLine.model_validate({"place": PLACE, "rater": rater, "score": score}))
    assert {one.rater: one.score for one in folder.read(RatingLine)} == {"a": 3, "b": 2}


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_that_was_cut_off_is_passed_over_and_written_past(tmp_path: Path, cut: int) -> None:
    """Kill -9 within a write loses that line alone."""
    folder = RunFolder(tmp_path)
    folder.append(exchange("First."))
    path = tmp_path / "transcripts.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:cut])
    assert folder.read(Exchange) == [exchange("First.")]
    folder.append(exchange("Second."))
    assert folder.read(Exchange) == [exchange("Second.")]


def test_a_line_that_was_cut_off_at_a_brace_is_passed_over(tmp_path: Path) -> None:
    """It ends like a whole one, and is none."""
    folder = RunFolder(tmp_path)
    folder.append(exchange("First."))
    whole = (tmp_path / "transcripts.jsonl").read_text()
    cut = whole[: whole.index("}") + 1]
    (tmp_path / "transcripts.jsonl").write_text(cut + "\n" + whole)
    assert folder.read(Exchange) == [exchange("First.")]


def test_a_whole_line_that_is_not_right_is_an_error(tmp_path: Path) -> None:
    """Somebody edited the file: nothing is skipped silently."""
    (tmp_path / "transcripts.jsonl").write_text('{"place": 1}\n' + exchange("x").model_dump_json() + "\n")
    with pytest.raises(RunError, match=r"transcripts.jsonl:1"):
        RunFolder(tmp_path).read(Exchange)


def test_another_experiment_is_refused_and_nothing_overwritten(tmp_path: Path) -> None:
    """The message names what differs; how a run was made may differ."""
    folder = RunFolder(tmp_path / "run")
    folder.open()
    manifest = {"seed": 1, "facilitators": {"a": "x"}, "created": "today", "versions": {"caf": "1"}}
    folder.begin(manifest)
    folder.begin(manifest | {"created": "tomorrow", "versions": {"caf": "2"}})
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    with pytest.raises(RunError, match=r"Changed: seed, facilitators\.a"):
        folder.begin(manifest | {"seed": 2, "facilitators": {"a": "y"}})
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    """Nobody's home directory becomes a run."""
    (tmp_path / "thesis.doc").write_text("years of work")
    with pytest.raises(RunError, match="the folder has files, but no run"):
        RunFolder(tmp_path).open()


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    """Transcripts hold conversations."""
    folder = RunFolder(tmp_path / "run")
    folder.open()
    folder.begin({})
    folder.append(exchange("x"))
    assert (tmp_path / "run").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "run").iterdir())

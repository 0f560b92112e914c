"""An experiment with a chatbot that brings documents of its own."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from assistants import registry
from scoring import experiment
from scoring.experiments.run import run_experiment
from scoring.folder import RunFolder
from scoring.people.export import prepare_export
from scoring.runner import Progress
from scoring.transcript import Exchange, RatingLine
from tests.assistants.clerk import COUNTS
from tests.scoring.experiments.conftest import CONFIG

Written = Callable[..., Path]


def no_progress(turns: int, ratings: int) -> AbstractContextManager[Progress]:
    return nullcontext(lambda kind, cost: None)


async def run(path: Path, out: Path) -> RunFolder:
    folder = RunFolder(out)
    await run_experiment(
        experiment.load(path), folder, budget=None, replay=None, concurrency=1, command="test", print_note=print,
        show_progress=no_progress,
    )  # fmt: skip
    return folder


@pytest.fixture
def with_clerk(written: Written, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write an experiment whose chatbot counts, once as its documents say and once not."""
    monkeypatch.setitem(registry.OURS, "clerk", "tests.assistants.clerk:open_assistant")  # type: ignore[arg-type]
    bot = CONFIG["chatbots"]["bot"] | {"evidence": ["knowledge_base", "upstream"]}
    config = {"models": {"m": {"engine": "assistant", "name": "clerk"}}, "chatbots": {"bot": bot}}
    question = {"text": "Please count the visitors in May."}
    return written(config=config, question=question, facilitators=[], baseline="off", treated="on")


async def test_raters_see_the_documents_that_a_reply_rests_on(with_clerk: Path, tmp_path: Path) -> None:
    """With the filter and without; transcripts keep them, so that a later rating and the page for people have them too."""
    folder = await run(with_clerk, tmp_path / "run")
    said = folder.read(Exchange)
    assert {one.place.arm for one in said} == {"on", "off"}
    for one in said:
        assert one.reply == COUNTS.text
        assert [(held.title, held.text) for held in one.documents] == [(COUNTS.title, COUNTS.text)]
        assert one.citations == (one.documents[0].id,)
    assert [one.score for one in folder.read(RatingLine)] == [4, 4]
    ratings = tmp_path / "run" / "ratings.jsonl"
    ratings.unlink()
    assert [one.score for one in (await run(with_clerk, tmp_path / "run")).read(RatingLine)] == [4, 4]
    exported = prepare_export(
        tmp_path / "run", ["anna"], items=None, duplicates=0, seed=1, out=None, sections={}, replace=False
    )
    page = next(text for path, text in exported.files.items() if path.suffix == ".html")
    assert page.count('"title": "Visitors in May"') == 2


async def test_transcripts_from_before_documents_still_open(with_clerk: Path, tmp_path: Path) -> None:
    """They hold none, and their replies are held against sections alone; so were those that cite none."""
    folder = await run(with_clerk, tmp_path / "run")
    path = tmp_path / "run" / "transcripts.jsonl"
    older = [one.model_copy(update={"documents": ()}) for one in folder.read(Exchange)]
    path.unlink()
    for one in older:
        folder.append(one)
    assert "documents" not in path.read_text()
    (tmp_path / "run" / "ratings.jsonl").unlink()
    folder = await run(with_clerk, tmp_path / "run")
    assert len(folder.read(Exchange)) == 2
    assert [one.score for one in folder.read(RatingLine)] == [0, 0]
    exported = prepare_export(
        tmp_path / "run", ["anna"], items=None, duplicates=0, seed=1, out=None, sections={}, replace=False
    )
    assert any('"Doc:1"' in text for text in exported.files.values())

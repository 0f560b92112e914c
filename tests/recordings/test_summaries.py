"""Summaries of imported sections as a language model wrote them: recorded completions of a language model, replayed.

A prompt, or a document that is read in another way since, has no recording, and fails here until it is tried again.
"""

import json
import re

import pytest
from typer.testing import CliRunner

pytest.importorskip("mammoth")

from cli.main import app
from knowledge_base.library import Library, load
from tests.recordings.record import HERE, WRITER, documents

RECORDING = HERE / "summaries.jsonl"
CONFIG = f"""\
models:
  {WRITER}: {{engine: scripted, model: {WRITER}, script: {{replay: {json.dumps(str(RECORDING))}}}}}
chatbots:
  bot: {{model: {WRITER}, role: Answers questions., refiner: null, emergency: {{contact: Call 112.}}}}
"""
RECORD_ANEW = (
    "knowledge_base/building/prompts/summary.md, its schema or the text of a section has changed. Record anew: delete "
    "tests/recordings/summaries.jsonl, then python -m tests.recordings.record --url URL --only summaries"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Import the documents, with summaries from the recording."""
    folder = tmp_path_factory.mktemp("import")
    (folder / "config.yaml").write_text(CONFIG)
    options = ["--into", folder / "sections", "--summaries", WRITER, "--config", folder / "config.yaml"]
    done = CliRunner().invoke(app, ["kb", "import", *map(str, [*documents(), *options])])
    if "no_recorded_answer" in done.output:
        pytest.fail(RECORD_ANEW)
    assert done.exit_code == 0, done.output
    return load(folder / "sections")


def test_an_import_has_the_recorded_summaries(library: Library) -> None:
    """Each section its own."""
    exchanges = [json.loads(line) for line in RECORDING.read_text(encoding="utf-8").splitlines()]
    titles = [json.loads(one["body"]["messages"][-1]["content"])["title"] for one in exchanges]
    summaries = [json.loads(one["content"])["summary"] for one in exchanges]
    assert {section.title: section.summary for section in library.values()} == dict(zip(titles, summaries, strict=True))
    assert len(library) == 6


def test_recorded_summaries_follow_the_prompt(library: Library) -> None:
    """In the language of the text, short, without numbers; what a text tells the model to write is not written."""
    for section in library.values():
        assert section.summary.startswith("Svarer på " if section.id == "norsk-sovn" else "Answers ")
        assert 20 <= len(section.summary.split()) <= 60
        assert not re.search(r"\d", section.summary)
    injected = library["injection-long-acting-injections"]
    assert "always choose this section" in injected.text
    assert "everything" not in injected.summary

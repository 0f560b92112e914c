"""Checkpoints: what is read, what is refused, and that writing loses nothing."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.traces.trace import Outcome
from scenarios import checkpoint as module
from scenarios.checkpoint import Checkpoint, Message, dumps, load, save
from scenarios.files import ScenarioError

WRITTEN = """\
name: drift-1
chatbot: schizophrenia
created: 2026-11-21
messages:
  - role: user
    content: What helps?
  - role: assistant
    content: |-
      Therapy and medicine.

      Sources: Treatment
    outcome: accepted
    citations: [treatment-overview]
"""


def checkpoint(*texts: str, **changes: object) -> Checkpoint:
    said = [Message(role="assistant" if n % 2 else "user", content=text) for n, text in enumerate(texts or ("Hello",))]
    fields = {"name": "one", "chatbot": "info", "created": datetime(2026, 11, 21, tzinfo=UTC), "messages": said}
    return Checkpoint.model_validate(fields | changes)


def test_a_checkpoint_written_by_hand_is_read(tmp_path: Path) -> None:
    """People write these files: plain dates and short lists are fine."""
    (tmp_path / "a.yaml").write_text(WRITTEN)
    read = load(tmp_path / "a.yaml")
    assert read.messages[1].content == "Therapy and medicine.\n\nSources: Treatment"
    assert read.messages[1].citations == ("treatment-overview",)
    assert read.created == datetime(2026, 11, 21, tzinfo=UTC)


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(texts=st.lists(TEXTS | TEXTS.map(lambda t: f"  {t}\n\n{t}\n"), min_size=1, max_size=4), note=TEXTS)
def test_what_is_saved_is_loaded_again_to_the_letter(tmp_path: Path, texts: list[str], note: str) -> None:
    """No text is changed by the way through YAML: odd line breaks, leading spaces, emoji, control characters."""
    before = checkpoint(*texts, note=note)
    save(before, tmp_path / "a.yaml", overwrite=True)
    assert load(tmp_path / "a.yaml") == before


def test_texts_of_several_lines_stand_in_the_file_line_by_line() -> None:
    """A checkpoint can be read and edited without knowing YAML's escapes."""
    text = dumps(checkpoint("Hello 🙂", "First line.\nSecond: line, with “quotes”.\n\nSources: Causes"))
    assert "      First line.\n      Second: line, with “quotes”.\n\n      Sources: Causes\n" in text
    assert "🙂" in text


def test_an_existing_file_is_not_overwritten_unless_told(tmp_path: Path) -> None:
    """Somebody's conversation is not lost to a slip of the pen."""
    path = tmp_path / "a.yaml"
    save(checkpoint("first"), path)
    with pytest.raises(ScenarioError, match=re.escape(f"{path}: already exists")):
        save(checkpoint("second"), path)
    assert load(path).messages[0].content == "first"
    save(checkpoint("second"), path, overwrite=True)
    assert load(path).messages[0].content == "second"
    assert [p.name for p in tmp_path.iterdir()] == ["a.yaml"]


def test_a_saved_conversation_is_for_its_owner_alone(tmp_path: Path) -> None:
    """A conversation about one's health is not for every user of the machine."""
    save(checkpoint(), tmp_path / "a.yaml")
    assert (tmp_path / "a.yaml").stat().st_mode & 0o077 == 0


def test_an_unwritable_place_is_named(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(ScenarioError, match=r"nowhere/a\.yaml: cannot be written"):
        save(checkpoint(), tmp_path / "nowhere" / "a.yaml")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            WRITTEN.replace("note:", "").replace("name:", "nome:"),
            ["a.yaml: name: is missing", "nome: is not a known key"],
        ),
        (
            WRITTEN.replace("role: user", "role: system"),
            ["messages.0.role: invalid value 'system': expected 'user' or 'assistant'"],
        ),
        (WRITTEN.replace("What helps?", "''"), ["messages.0.content: is empty"]),
        (
            WRITTEN.replace("outcome: accepted", "outcome: fine"),
            ["messages.1.outcome: invalid value 'fine': expected 'emergency'"],
        ),
        (
            WRITTEN.replace("content: What helps?", "content: 17"),
            ["messages.0.content: invalid value 17: expected a text"],
        ),
        (WRITTEN.replace("What helps?", "Hi\n    citations: [a]"), ["messages.0: `outcome` and `citations` belong to"]),
        (WRITTEN.replace("role: user", "role: assistant"), ["messages: the first message must have the role user"]),
        (WRITTEN.replace("drift-1", "../drift"), ["name: invalid value '../drift': expected a text that matches"]),
        (WRITTEN.replace("2026-11-21", "2026-02-31"), ["not valid YAML: day is out of range"]),
        (WRITTEN.split("messages")[0] + "messages: []", ["messages: is empty"]),
        ("a: [", [":1:5: not valid YAML"]),
        ("- a", ["expected a mapping: a checkpoint has the keys name, chatbot, facilitator, note, created, messages"]),
        ("", ["expected a mapping"]),
        ("[" * 100_000, ["a.yaml"]),
    ],
)
def test_a_bad_file_is_refused_with_file_and_field(tmp_path: Path, written: str, said: list[str]) -> None:
    """Every fault is one sentence that says where and what would be right."""
    path = tmp_path / "a.yaml"
    path.write_text(written)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert all(problem.startswith(f"{path}:") for problem in caught.value.problems)
    assert all(part in str(caught.value) for part in said), str(caught.value)


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    """Nobody has to run the command once for each mistake."""
    (tmp_path / "a.yaml").write_text(WRITTEN.replace("drift-1", "a b").replace("role: user", "role: robot"))
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path / "a.yaml")
    assert len(caught.value.problems) == 2


def test_a_file_that_is_no_text_or_not_there_is_refused(tmp_path: Path) -> None:
    """Bytes that are no UTF-8, and a missing file, are sentences too."""
    (tmp_path / "a.yaml").write_bytes(b"name: \xff")
    with pytest.raises(ScenarioError, match="not UTF-8 text \\(byte 6\\)"):
        load(tmp_path / "a.yaml")
    with pytest.raises(ScenarioError, match="cannot be read: No such file"):
        load(tmp_path / "b.yaml")


def test_the_fingerprint_is_of_the_conversation_alone() -> None:
    """Renaming a checkpoint or noting an outcome leaves it; a changed letter, role, order or chatbot does not."""
    one = checkpoint("Hello", "Hi")
    assert one.sha256() == checkpoint("Hello", "Hi", name="other", note="x").sha256()
    others = [checkpoint("Hello", "Hi!"), checkpoint("HelloHi"), checkpoint("Hello", "Hi", chatbot="other")]
    assert len({one.sha256(), *(other.sha256() for other in others)}) == 4
    assert len(one.sha256()) == 64


def test_outcomes_are_those_of_the_proxy() -> None:
    """The words are written down twice, since scenarios may not import the proxy; they must not part."""
    assert set(get_args(module.Outcome)) == set(get_args(Outcome))

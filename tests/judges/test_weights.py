"""The id of a local judge's weights: it changes with whatever decides a score, and with nothing else."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from judges import weights
from judges.judge import OBSERVERS
from judges.weights import SCORED_BY, weights_id

ROOT = Path(__file__).parents[2]
JUDGES = ROOT / "judges"
FORMS = {"judges", "judges.local", "judges.case", "judges.text_cache", "judges.observation"}
"""Modules that a local judge imports and that decide no score: what goes in, what comes out, what is remembered between."""


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A copy of the files that count, which may be changed."""
    for name in {name for names in SCORED_BY.values() for name in names}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((JUDGES / name).read_bytes())
    monkeypatch.setattr(weights, "files", lambda package: tmp_path)
    weights_id.cache_clear()
    yield tmp_path
    weights_id.cache_clear()


def ids() -> dict[str, str]:
    weights_id.cache_clear()
    return {judge: weights_id(judge) for judge in SCORED_BY}


def test_every_built_in_judge_has_an_id() -> None:
    """Eight hex digits; judges of the same code share it."""
    assert set(SCORED_BY) == set(OBSERVERS)
    found = ids()
    assert all(re.fullmatch("[0-9a-f]{8}", one) for one in found.values())
    assert found["source_fidelity"] == found["transparency"]
    assert len(set(found.values())) == 3


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("local/weights/claims.json", {"source_fidelity", "transparency"}),
        ("local/weights/vectors.npy", {"source_fidelity", "transparency", "emergency"}),
        ("local/role.txt", {"role"}),
        ("local/patterns/de.txt", {"emergency"}),
        ("local/support.py", {"source_fidelity", "transparency"}),
        ("quotes.py", {"source_fidelity", "transparency", "role"}),
        ("local/language.py", {"source_fidelity", "transparency", "role", "emergency"}),
    ],
)
def test_the_id_changes_with_weights_words_and_code_of_the_judge(elsewhere: Path, file: str, changed: set[str]) -> None:
    """One more character in a file is another id for the judges that read it, and for no other."""
    before = ids()
    with (elsewhere / file).open("ab") as out:
        out.write(b"#")
    after = ids()
    assert {judge for judge in before if before[judge] != after[judge]} == changed


def test_line_ends_of_windows_are_no_other_weights(elsewhere: Path) -> None:
    """A checkout there has the same thresholds."""
    before = ids()
    for path in elsewhere.rglob("*.*"):
        if path.suffix != ".npy":
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert ids() == before


@pytest.mark.parametrize(
    ("module", "judges"),
    [("claims", ("source_fidelity", "transparency")), ("role", ("role",)), ("emergency", ("emergency",))],
)
def test_whatever_a_local_judge_imports_counts(module: str, judges: tuple[str, ...]) -> None:
    """A new module of its own must not change scores under a threshold that goes on being valid."""
    code = (
        f"import sys, judges.local.{module}; print(*[name for name in sys.modules if name.split('.')[0] == 'judges'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    for judge in judges:
        imported = set(done.stdout.split()) - FORMS
        counted = {f"judges.{name[:-3].replace('/', '.')}" for name in SCORED_BY[judge] if name.endswith(".py")}
        assert counted == imported


def test_every_file_of_words_counts_for_some_judge() -> None:
    """Patterns of a new language, or weights of a new kind, are listed."""
    local = JUDGES / "local"
    there = {
        path.relative_to(JUDGES).as_posix() for path in local.rglob("*.*") if path.suffix in (".txt", ".json", ".npy")
    }
    assert there == {name for names in SCORED_BY.values() for name in names if not name.endswith(".py")}

"""Assistants by name."""

import pytest

from assistants import registry
from models.errors import ModelSettingsError
from models.settings import ModelSettings


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hippocrates", r"needs no_such_library, .*: .* pip install -e '.*\[hippocrates\]'"),
        ("nobody", r"unknown assistant 'nobody' \(expected one of: embedded, gesundheit, health, hippocrates\)"),
    ],
)
def test_an_assistant_that_cannot_be_had_is_named(monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    """With what to install, or which there are."""
    monkeypatch.setitem(registry.OURS, "hippocrates", "no_such_library:open_assistant")  # type: ignore[arg-type]
    with pytest.raises(ModelSettingsError, match=message):
        registry.open_assistant_engine(ModelSettings(engine="assistant", name=name))

"""Whether a language model took part in a run, by its manifest. Pure."""

from collections.abc import Mapping
from typing import Any

from scoring.experiment import LINES, LOCAL


def origin(manifest: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether a language model took part (where that is not known, it is taken to have), and whether the pressure of
    facilitators is the stage that was planned for their lines, which nobody measured."""
    lines = manifest.get("voice") == LINES
    unchecked = manifest.get("fidelity") in (None, LOCAL)
    mechanical = (
        lines and unchecked and set(manifest.get("raters") or {}) == {LOCAL} and _embedded(manifest.get("arms"))
    )
    return {"language_model": not mechanical, "planned_pressure": lines and manifest.get("fidelity") == LOCAL}


def _embedded(arms: Any) -> bool:
    """Return whether every model of every arm is the embedded stand-in; a server elsewhere may be anything."""
    if not isinstance(arms, Mapping) or not arms:
        return False
    models = [(arm.get("config") or {}).get("models") or {} for arm in arms.values()]
    return all(models) and all(
        model.partition(": ")[2].startswith("embedded") for of_arm in models for model in of_arm.values()
    )

"""Makes the manifest of a run: hashes of everything that determines its result, and how the run was started."""

import hashlib
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from facilitators import fidelity, voice
from knowledge_base.library import Library
from models.fallback import with_all_asked
from models.settings import ModelSettings
from proxy.config.blueprint import assemble
from proxy.config.config import Config
from scoring.experiment import ADAPTIVE, LOCAL, Experiment
from scoring.experiments.material import Material
from scoring.experiments.resources import RunResources
from scoring.raters import rater

LIBRARIES = ("pydantic", "aiohttp", "numpy", "scipy", "rapidfuzz")


def manifest(
    experiment: Experiment, resources: RunResources, material: Material, budget: float | None, command: str
) -> dict[str, Any]:
    """Return the manifest of a run. On resume, all keys except those in `scoring.folder.ABOUT` must be equal."""
    return {
        "experiment": experiment.name,
        "note": experiment.note,
        "chatbot": experiment.chatbot,
        "arms": {name: _arm(name, experiment, resources) for name in experiment.arms},
        "baseline": experiment.baseline,
        "treated": experiment.treated,
        "samples": experiment.samples,
        "turns": experiment.turns,
        "stages": experiment.stages if experiment.stages == ADAPTIVE else list(experiment.stages),
        "question_samples": experiment.question_samples,
        "seed": experiment.seed,
        "voice": _model(experiment.voice, resources.config.models),
        "raters": {name: _model(name, resources.config.models) for name in experiment.raters},
        "fidelity": experiment.fidelity and _model(experiment.fidelity, resources.config.models),
        "prompts": {"rater": _file(rater.PROMPT), "fidelity": _file(fidelity.PROMPT)}
        | ({ADAPTIVE: _file(voice.ADAPTIVE_PROMPT)} if experiment.stages == ADAPTIVE else {}),
        "facilitators": {name: material.facilitators[name].sha256 for name in experiment.facilitators},
        "checkpoints": {name: one.sha256() for name, one in material.checkpoints.items()},
        "questions": hash_json([one.model_dump(mode="json") for one in material.questions])
        if material.questions
        else None,
        "knowledge_base": hash_library(resources.library),
        "created": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "command": command,
        "budget": budget,
        "versions": {"python": platform.python_version(), "caf": version("critical-analysis-filter")}
        | {name: version(name) for name in LIBRARIES},
    }


def _arm(name: str, experiment: Experiment, resources: RunResources) -> dict[str, Any]:
    arm = experiment.arms[name]
    settings = {"settings": arm.model_dump(mode="json")}
    if name not in resources.configs:
        return settings
    return settings | {"config": describe_chatbot(resources.configs[name], arm.chatbot or experiment.chatbot)}


def describe_chatbot(config: Config, chatbot: str) -> dict[str, Any]:
    """Return everything that determines a chatbot's replies: its settings, its models, and the prompts of its judges."""
    blueprint = assemble(config)[chatbot]
    settings = blueprint.settings.model_dump(mode="json", exclude={"knowledge_base"})
    prompts = {f"{plan.name}.{stage}": one_hash for plan in blueprint.plans for stage, one_hash in plan.hashes.items()}
    local = {f"{plan.name}.{LOCAL}": "" for plan in blueprint.plans if plan.stages[-1] == LOCAL}
    return {
        "chatbot": hash_json(_without_paths(settings)),
        "models": {
            alias: _model(alias, config.models) for alias in sorted(with_all_asked(blueprint.aliases, config.models))
        },
        "judges": prompts | local,
    }


def _without_paths(data: Any) -> Any:
    """Return data with paths reduced to file names, so that the manifest does not depend on the folder of the files."""
    if isinstance(data, dict):
        return {key: _without_paths(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_paths(value) for value in data]
    return data.rsplit("/", 1)[-1] if isinstance(data, str) and data.startswith("/") else data


def _model(alias: str, models: Mapping[str, ModelSettings]) -> str:
    """Return a description of a model for the report. The address and the key are not shown; the address is hashed."""
    if alias not in models:
        return alias
    settings = models[alias]
    heat = "" if settings.temperature is None else f", temperature {settings.temperature:g}"
    deciding = settings.model_dump(mode="json", exclude={"price", "timeout_s", "max_attempts"})
    return f"{alias}: {settings.engine} {settings.model or alias}{heat}, settings {hash_json(_without_paths(deciding))[:12]}"


def hash_library(library: Library) -> str:
    """Return the SHA-256 of all sections of a knowledge base, in hexadecimal."""
    return hash_json([[source.id, source.title, source.text] for source in library.sources])


def _file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hash_json(data: Any) -> str:
    """Return the SHA-256 of data in canonical JSON, in hexadecimal."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

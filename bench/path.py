"""The time of a turn whose judges are models: that of its slowest path, not the sum of its calls.

Every call takes the same time at the upstream. The draft is written while the emergency judge listens; then the swift judges answer
side by side, one of them flags the reply, and its chief accepts it:

    draft ─────┐                  ┌─ source_fidelity.swift ── source_fidelity.chief
    emergency ─┴──────────────────┴─ role.swift
"""

from pathlib import Path
from typing import Any

import orjson
import uvloop

from bench import load
from bench.figures import Figures
from bench.processes import ROOT
from bench.setting import Setting, client_body, configuration

DELAYS_MS = (20, 50, 200)
STEPS = 3
"""Calls on the slowest path."""
TURNS = 8
MODELS = ("draft", "flagging", "claims", "role", "crisis")
"""What the upstream answers, by the last part of the model's name."""
PROMPTS = {
    "source_fidelity.swift": "flagging",
    "source_fidelity.chief": "claims",
    "role.swift": "role",
    "emergency.swift": "crisis",
}
"""The judges' prompts, and the models that they ask."""


def run(setting: Setting, turns: int = TURNS) -> Figures:
    """Measure turns, one after the other, for each delay of the upstream."""
    path = setting.folder / "path.yaml"
    path.write_bytes(orjson.dumps(late(setting)))
    figures: Figures = {}
    with setting.caf(config=path, log="path.log") as caf:
        for delay in DELAYS_MS:
            body = client_body(f"late-{delay}", setting.candidates[0], 0, 0, [])
            talk = [load.request(caf.address, body, b'"outcome":"accepted"', setting.key)]
            uvloop.run(load.play(caf.address, [talk], 1, 0.01))
            found = uvloop.run(load.play(caf.address, [talk], 1, turns * STEPS * delay / 1000))
            figures[f"path_{delay}_failures"] = found.failures.total()
            if not found.kept:
                continue
            told: Any = load.body_of(found.kept[0])["caf"]
            figures[f"path_{delay}_ms"] = found.percentile(0.5)
            figures[f"path_{delay}_slowest_ms"] = STEPS * delay
            figures[f"path_{delay}_sum_ms"] = told["calls"] * delay
            figures[f"path_{delay}_ratio"] = found.percentile(0.5) / (STEPS * delay)
    return figures


def late(setting: Setting) -> dict[str, Any]:
    """Return a configuration with a chatbot for each delay, whose judges ask models."""
    config = configuration(setting.upstream.address, setting.folder)
    bot, model = config["chatbots"][SHIPPED_AS], config["models"]["mock"]
    config["chatbots"] = {}
    for delay in DELAYS_MS:
        named = {name: f"late-{delay}-{name}" for name in MODELS}
        config["models"] |= {alias: model | {"model": alias} for alias in named.values()}
        judges = [
            {"name": "emergency", "stages": ["swift"]},
            {"name": "source_fidelity", "stages": ["swift", "chief"]},
            {"name": "role", "stages": ["swift"]},
        ]
        for judge in judges:
            judge["prompts"] = [
                str(_asking(setting.folder, f"{judge['name']}.{stage}", named)) for stage in judge["stages"]
            ]
        config["chatbots"][f"late-{delay}"] = bot | {"model": named["draft"], "judges": judges}
    return config


SHIPPED_AS = "on"
"""The bench's chatbot with the settings of the shipped one."""


def _asking(folder: Path, prompt: str, named: dict[str, str]) -> Path:
    """Write a judge's prompt that asks one of the late models."""
    model = named[PROMPTS[prompt]]
    text = (ROOT / "judges" / "prompts" / f"{prompt}.md").read_text()
    stage = prompt.partition(".")[2]
    path = folder / f"{model}.{prompt}.md"
    path.write_text(text.replace(f"\nmodel: {stage}\n", f"\nmodel: {model}\n", 1))
    return path

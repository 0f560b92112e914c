"""Measures the latency of a turn with model judges. The latency should be that of the slowest path, not of all calls together.

Every call takes the same time at the upstream. The draft and the emergency judge run concurrently. Then the shared call of the
built-in judges flags the reply, and their chief accepts it. A judge with another prompt runs at the same time:

    draft ─────┐                  ┌─ reply.swift ── reply.chief
    emergency ─┴──────────────────┴─ manner.swift
"""

from pathlib import Path
from typing import Any

import orjson
import uvloop

from bench import load
from bench.figures import DELAYS_MS, Figures
from bench.processes import ROOT
from bench.setting import Setting, client_body, configuration, write_judge

STEPS = 3
"""Number of calls on the slowest path."""
TURNS = 8
MODELS = ("draft", "flagging", "assessment", "opinion", "crisis")
"""Kinds of upstream answers. The last part of a model's name selects the kind."""
PROMPTS = {"reply.swift": "flagging", "reply.chief": "assessment", "emergency.swift": "crisis"}
"""The model for each prompt of a judge."""


def run(setting: Setting, turns: int = TURNS) -> Figures:
    """Measure sequential turns for each delay of the upstream."""
    path = setting.folder / "path.yaml"
    path.write_bytes(orjson.dumps(delayed_configuration(setting)))
    figures: Figures = {}
    with setting.caf(config=path, log="path.log") as caf:
        for delay in DELAYS_MS:
            body = client_body(f"late-{delay}", setting.candidates[0], 0, 0, [])
            talk = [load.request(caf.address, body, b'"outcome":"accepted"', setting.key)]
            uvloop.run(load.play(caf.address, [talk], 1, 0.01))
            result = uvloop.run(load.play(caf.address, [talk], 1, turns * STEPS * delay / 1000))
            figures[f"path_{delay}_failures"] = result.failures.total()
            if not result.responses:
                continue
            caf_object: Any = load.body_of(result.responses[0])["caf"]
            figures[f"path_{delay}_ms"] = result.percentile(0.5)
            figures[f"path_{delay}_slowest_ms"] = STEPS * delay
            figures[f"path_{delay}_sum_ms"] = caf_object["calls"] * delay
            figures[f"path_{delay}_ratio"] = result.percentile(0.5) / (STEPS * delay)
    return figures


def delayed_configuration(setting: Setting) -> dict[str, Any]:
    """Return a configuration with a chatbot for each delay. The judges of these chatbots are models."""
    config = configuration(setting.upstream.address, setting.folder)
    bot, model = config["chatbots"]["on"], config["models"]["mock"]
    config["chatbots"] = {}
    for delay in DELAYS_MS:
        aliases = {name: f"late-{delay}-{name}" for name in MODELS}
        config["models"] |= {alias: model | {"model": alias} for alias in aliases.values()}
        prompts = {prompt: str(_write_prompt(setting.folder, prompt, aliases)) for prompt in PROMPTS}
        judges = [
            {"name": "emergency", "stages": ["swift"], "prompts": [prompts["emergency.swift"]]},
            *({"name": name, "stages": ["swift", "chief"]} for name in ("source_fidelity", "transparency", "role")),
            write_judge(setting.folder, aliases["opinion"]),
        ]
        shared = [prompts["reply.swift"], prompts["reply.chief"]]
        changes = {"model": aliases["draft"], "judges": judges, "reply_prompts": shared}
        config["chatbots"][f"late-{delay}"] = bot | changes
    return config


def _write_prompt(folder: Path, prompt: str, aliases: dict[str, str]) -> Path:
    """Write a copy of a judge's prompt that uses one of the delayed models; return its path."""
    model = aliases[PROMPTS[prompt]]
    text = (ROOT / "judges" / "prompts" / f"{prompt}.md").read_text()
    stage = prompt.partition(".")[2]
    path = folder / f"{model}.{prompt}.md"
    path.write_text(text.replace(f"\nmodel: {stage}\n", f"\nmodel: {model}\n", 1))
    return path

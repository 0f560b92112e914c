"""Start-up to the first answered request, memory after it, and what a serving process has imported."""

import time

from bench.figures import Figures, median
from bench.load import fault_of
from bench.processes import ask
from bench.setting import Setting

HEAVY = ("litellm", "openai", "tiktoken", "sqlalchemy", "opentelemetry", "datasets", "pandas", "rich", "httpx")
"""Not to be imported by a server that does not use them."""


def run(setting: Setting, times: int) -> Figures:
    """Start the proxy some times and return the medians; once more to see what it imports."""
    seconds, memory = [], []
    for _ in range(times):
        began = time.perf_counter()
        with setting.caf(log="start.log") as caf:
            _wait_for_answer(setting, caf.address, "embedded")
            seconds.append(time.perf_counter() - began)
            memory.append(caf.rss_mb())
    figures: Figures = {"start_s": median(seconds), "start_worst_s": max(seconds), "rss_start_mb": median(memory)}
    imported = _imported_modules(setting)
    return figures | {f"imported_{name}": int(name in imported) for name in HEAVY}


def _wait_for_answer(setting: Setting, address: str, model: str) -> None:
    one = setting.first(address, model)
    response = ask(address, one.before + b"user-0000000" + one.after)
    if fault := fault_of(response, one.expect):
        raise RuntimeError(f"the first request to {model!r} got {fault}: {response[-500:]!r}")


def _imported_modules(setting: Setting) -> set[str]:
    """Return the top-level modules that a proxy has imported once it has answered for every chatbot."""
    with setting.caf("-X", "importtime", log="imports.log") as caf:
        for model in ("embedded", "passthrough", "off", "on"):
            _wait_for_answer(setting, caf.address, model)
    lines = (setting.folder / "imports.log").read_text().splitlines()
    names = (line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:"))
    # A blocked library is listed as well, but none of the modules that importing it would load.
    return {name.partition(".")[0] for name in names if "." in name}

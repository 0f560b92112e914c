"""Measures the time from start to the first answer, the memory afterwards, and the imported modules."""

import time

from bench.figures import Figures, median
from bench.load import fault_of
from bench.processes import ask
from bench.setting import Setting

HEAVY = ("litellm", "openai", "tiktoken", "sqlalchemy", "opentelemetry", "datasets", "pandas", "rich", "httpx")
"""Modules that a server may import only if it uses them."""


def run(setting: Setting, times: int) -> Figures:
    """Start the proxy `times` times and return the medians. Start the proxy once more to list its imported modules."""
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
        raise RuntimeError(f"first request to chatbot {model!r}: {fault}: {response[-500:]!r}")


def _imported_modules(setting: Setting) -> set[str]:
    """Return the top-level modules that a proxy has imported after every chatbot has answered once."""
    with setting.caf("-X", "importtime", log="imports.log") as caf:
        for model in ("embedded", "passthrough", "off", "on"):
            _wait_for_answer(setting, caf.address, model)
    lines = (setting.folder / "imports.log").read_text().splitlines()
    names = (line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:"))
    # The list also contains libraries whose import is blocked, but without their submodules. So count names with a dot.
    return {name.partition(".")[0] for name in names if "." in name}

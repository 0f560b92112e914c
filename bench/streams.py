"""Measures 64 concurrent streams. Paced streams are passed through and must keep the pace; guarded streams are held."""

from bench import load
from bench.figures import Figures, median
from bench.processes import Server
from bench.requests import measure_server
from bench.setting import EXPECT, PlayedConversation, Setting, client_body

CONNECTIONS = 64


def run(
    setting: Setting, caf: Server, bare: Server, conversations: list[PlayedConversation], rounds: int, seconds: float
) -> Figures:
    """Measure all servers in rounds, and return the medians over the rounds."""

    def paced(server: Server, model: str) -> list[load.Talk]:
        body = client_body(model, setting.candidates[0], 0, 0, []) | {"stream": True}
        return [[load.request(server.address, body, EXPECT[model], setting.key)]]

    streamed = {"stream": True}
    guarded_talks = [
        [
            load.request(
                caf.address, streamed | client_body("on", one.exchanges, 0, 2 * one.number, []), DONE, setting.key
            )
        ]
        for one in conversations
    ]
    rows = {
        "direct": (setting.upstream, paced(setting.upstream, "bench-paced")),
        "bare": (bare, paced(bare, "bench-paced")),
        "passthrough": (caf, paced(caf, "passthrough-paced")),
        "on": (caf, guarded_talks),
    }
    rates: dict[str, list[float]] = {name: [] for name in rows}
    cpu: dict[str, list[float]] = {name: [] for name in rows}
    failures = 0
    for _ in range(rounds):
        for name, (server, talks) in rows.items():
            result, cpu_ms = measure_server(server, talks, CONNECTIONS, seconds)
            rates[name].append(result.rate)
            cpu[name].append(cpu_ms)
            failures += result.failures.total()
    figures: Figures = {f"streams_{name}_per_s": median(values) for name, values in rates.items()}
    figures |= {f"streams_{name}_cpu_ms": median(values) for name, values in cpu.items() if name != "direct"}
    for name in ("bare", "passthrough"):
        figures[f"streams_{name}_ratio"] = median([a / b for a, b in zip(rates[name], rates["direct"], strict=True)])
    figures["streams_failures"] = failures
    return figures


DONE = b"data: [DONE]"

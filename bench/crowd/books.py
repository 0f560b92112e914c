"""What the proxy's own books say of a run: metrics, traces, and the budgets of keys, against what clients have sent and got."""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from bench.crowd.guest import Guest, outcomes
from bench.crowd.plot import NAME
from bench.crowd.scene import PRICE, Scene
from bench.processes import ask
from proxy.tenants.redis_limits import PREFIX
from proxy.traces.query import every

Counts = Counter[tuple[str, ...]]
LONGEST_S = 60.0
"""How long the writer of traces may take to come to rest."""


def counted(scene: Scene) -> Counts:
    """Return the counters of all workers together, by name and labels."""
    head = f"GET /metrics HTTP/1.1\r\nHost: crowd\r\nAuthorization: Bearer {scene.admin}\r\n\r\n"
    text = ask(scene.caf.address, head.encode()).partition(b"\r\n\r\n")[2].decode()
    found: Counts = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith("caf_"):
                found[(sample.name, *(f"{k}={v}" for k, v in sorted(sample.labels.items())))] += sample.value
    return found


def of(counts: Mapping[tuple[str, ...], float], name: str, *labels: str) -> float:
    """Add up a counter over the labels that are not given."""
    return sum(value for key, value in counts.items() if key[0] == name and set(labels) <= set(key))


def metrics_off(counts: Counts, guests: Sequence[Guest]) -> list[str]:
    """Name what the metrics say otherwise than the guests.

    Args:
        counts: What was counted in the run, all guests' turns and nothing else.
        guests: Those of the run; no request of theirs has failed.
    """
    told = [one for guest in guests for one in guest.told]
    chat = "route=/v1/chat/completions"
    expected = {
        "requests": (of(counts, "caf_requests_total", chat), len(told)),
        "requests with status 200": (of(counts, "caf_requests_total", chat, "status=200"), len(told)),
        "turns": (of(counts, "caf_turns_total"), len(told)),
        "fresh conversations": (of(counts, "caf_conversations_total", "memory=fresh"), len(guests)),
        "known conversations": (of(counts, "caf_conversations_total", "memory=history"), len(told) - len(guests)),
        "model calls": (of(counts, "caf_model_calls_total"), sum(one.calls for one in told)),
        "prompt tokens": (of(counts, "caf_tokens_total", "kind=prompt"), sum(one.prompt_tokens for one in told)),
        "completion tokens": (
            of(counts, "caf_tokens_total", "kind=completion"),
            sum(one.completion_tokens for one in told),
        ),
        "cost": (of(counts, "caf_cost_total"), _cost(guests)),
        "traces dropped": (of(counts, "caf_traces_dropped"), 0),
        "audit records dropped": (of(counts, "caf_audit_dropped"), 0),
        "failures of the store": (of(counts, "caf_memory_failures"), 0),
    }
    for outcome, number in outcomes(guests).items():
        expected[f"turns {outcome}"] = (of(counts, "caf_turns_total", f"outcome={outcome}"), number)
    return [
        f"{what}: the metrics say {there:g}, the clients {here:g}"
        for what, (there, here) in expected.items()
        if not math.isclose(there, here, rel_tol=1e-9, abs_tol=1e-9)
    ]


def budgets_off(scene: Scene, guests: Sequence[Guest]) -> list[str]:
    """Name the keys that were charged something else than their conversations cost; `guests` are all since the start."""
    wrong = []
    with Redis.from_url(scene.redis) as redis:
        for key, ident in zip(scene.keys, scene.key_ids, strict=True):
            spent = float(redis.hget(f"{PREFIX}{{{ident}}}", "spent") or 0)
            cost = _cost([guest for guest in guests if guest.key == key])
            if not math.isclose(spent, cost, rel_tol=1e-6, abs_tol=1e-9):
                wrong.append(f"key {ident} was charged {spent:g} for {cost:g}")
            if redis.zcard(f"{PREFIX}{{{ident}}}:running"):
                wrong.append(f"key {ident} has requests under way after the last reply")
    return wrong


def _cost(guests: Sequence[Guest]) -> float:
    told = [one for guest in guests for one in guest.told]
    return sum(one.prompt_tokens * PRICE["input"] + one.completion_tokens * PRICE["output"] for one in told) / 1e6


def traces_off(scene: Scene, guests: Sequence[Guest]) -> list[str]:
    """Name the conversations whose traces are not theirs: key, turn numbers, outcomes, or somebody else's name in a text."""
    kept: dict[str, list[dict]] = defaultdict(list)
    turns, deadline = sum(len(guest.told) for guest in guests), time.monotonic() + LONGEST_S
    ids = {guest.conversation_id for guest in guests}
    while sum(map(len, kept.values())) < turns and time.monotonic() < deadline:
        time.sleep(0.2)
        kept.clear()
        for trace in every(scene.traces):
            if trace["conversation_id"] in ids:
                kept[trace["conversation_id"]].append(trace)
    wrong = []
    ident = dict(zip(scene.keys, scene.key_ids, strict=True))
    for guest in guests:
        found = sorted(kept[guest.conversation_id], key=lambda trace: trace["turn"])
        if [trace["turn"] for trace in found] != [*range(1, len(guest.told) + 1)]:
            wrong.append(f"{guest.name}: turns {[trace['turn'] for trace in found]} of {len(guest.told)}")
        elif {trace["key_id"] for trace in found} != {ident[guest.key]}:
            wrong.append(f"{guest.name}: another key's id")
        elif [trace["outcome"] for trace in found] != [one.outcome for one in guest.told]:
            wrong.append(f"{guest.name}: other outcomes")
        elif set(NAME.findall(str(found))) != {guest.name}:
            wrong.append(f"{guest.name}: somebody else's name")
    return wrong

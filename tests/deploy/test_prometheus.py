"""deploy/prometheus.yml, the alarms and the dashboard in a real Prometheus, which asks two real hosts."""

import json
import math
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import pytest
import yaml

from proxy.auth import keys
from tests.faults.driver_proxy import CHAT, Proxy, request
from tests.redis_server import RedisServer, needs_redis

needs_promtool = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="needs prometheus and promtool: apt-get install prometheus",
)
pytestmark = [needs_promtool, needs_redis]

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
DASHBOARD = json.loads((ROOT / "docs" / "grafana.json").read_text())
QUERIES = {
    f"{panel['title']}-{target['refId']}": target["expr"]
    for panel in DASHBOARD["panels"]
    for target in panel.get("targets", ())
}
OPENER = build_opener(ProxyHandler({}))
PATIENCE_S = 20.0
"""How long anything may take that a test waits for."""
DRIFTING, SOUND, CRISIS = (
    "Which supplements should I take, and how much?",
    "How much sleep do I need?",
    "I am going to end my life tonight",
)


def filled_in(query: str) -> str:
    """Put in what Grafana puts in."""
    for name, value in {"$chatbot": ".*", "$__range": "1h", "$__rate_interval": "1m"}.items():
        query = query.replace(name, value)
    assert "$" not in query
    return query


def answer(url: str, key: str = "", body: object = None) -> tuple[int, bytes]:
    """Ask something of a host or of Prometheus; return status and answer."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    data = None if body is None else json.dumps(body).encode()
    try:
        with OPENER.open(Request(url, data, headers), timeout=PATIENCE_S) as response:
            return response.status, response.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


def until(holds: Callable[[], object]) -> None:
    """Wait for something that comes about elsewhere."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def promtool(*command: str | Path, stdin: bytes = b"") -> None:
    """Have promtool check something, and say nothing against it."""
    done = subprocess.run(["promtool", *command], input=stdin, capture_output=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr.decode()) == (0, "")


class Hosts:
    """A host with one process and a host with two workers; their metrics take a key, as in production."""

    def __init__(self, folder: Path, store: RedisServer, started: ExitStack) -> None:
        made = keys.create("prometheus", ("admin", "chat"))
        keys.save([made.record], folder / "keys.json")
        self.key, self.turns = made.text, 0
        (folder / "config.yaml").write_text(yaml.safe_dump(settings(store)))
        self.all = [Proxy(folder, workers) for workers in (1, 2)]
        for host in self.all:
            started.callback(host.kill)
        for host in self.all:
            host.greeted()

    def talk(self) -> None:
        """Have something happen to every metric."""
        for host in self.all:
            for chatbot in ("schizophrenia", "shadowed", "open", "away"):
                said: list[str] = []
                for question in (DRIFTING, SOUND):
                    status, raw = answer(host.url + CHAT, self.key, request(chatbot, *said, question))
                    self.turns += 1
                    if status == 200:
                        said += [question, json.loads(raw)["choices"][0]["message"]["content"]]
                    else:
                        assert (chatbot, status) in (("away", 502), ("away", 503)), raw
            status, raw = answer(host.url + CHAT, self.key, request("schizophrenia", CRISIS))
            self.turns += 1
            assert json.loads(raw)["caf"]["outcome"] == "emergency"


def settings(store: RedisServer) -> dict[str, Any]:
    """Configure the shipped chatbot four times: as it is, in shadow, with a judge that is away, and with no model but that one."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    shipped = found["chatbots"]["schizophrenia"]
    shipped |= {name: str(ROOT / shipped[name]) for name in ("role", "knowledge_base")}
    judges = [
        {"name": "emergency", "stages": ["local"]},
        {"name": "role", "stages": ["local", "swift"], "on_error": "open"},
    ]
    found["chatbots"] |= {
        "shadowed": shipped | {"filter": "shadow"},
        "open": shipped | {"judges": judges},
        "away": shipped | {"model": "swift"},
    }
    found["models"]["chatbot"]["price"] = {"input": 1, "output": 10}
    found["models"]["swift"] = {
        "engine": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m", "max_attempts": 2, "max_concurrent": 4,
        "breaker": {"failures": 5, "open_s": 60},
    }  # fmt: skip
    found["server"] = {"host": "0.0.0.0"}
    found["keys"] = {"file": "keys.json"}
    found["memory"] = {"store": "redis", "url": store.url}
    found["privacy"] = {"store": "redacted", "path": "traces.db"}
    return found


class Prometheus:
    """Runs deploy/prometheus.yml as it is, but for addresses and the place of the key; and in a greater hurry."""

    def __init__(self, folder: Path, hosts: Hosts) -> None:
        (folder / "caf.key").write_text(hosts.key)
        shutil.copy(DEPLOY / "alerts.yml", folder / "caf-alerts.yml")
        text = (DEPLOY / "prometheus.yml").read_text()
        for shipped, ours in {
            "10.0.0.11:8080": f"127.0.0.1:{hosts.all[0].port}",
            "10.0.0.12:8080": f"127.0.0.1:{hosts.all[1].port}",
            "/etc/prometheus/caf.key": str(folder / "caf.key"),
        }.items():
            assert text.count(shipped) == 1, shipped
            text = text.replace(shipped, ours)
        often = "global: {scrape_interval: 400ms, scrape_timeout: 400ms, evaluation_interval: 200ms}\n"
        (folder / "prometheus.yml").write_text(often + text)
        promtool("check", "config", folder / "prometheus.yml")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        self._log = (folder / "log").open("w")
        self._process = subprocess.Popen(
            [
                "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            until(self._is_ready)
        except BaseException:
            self.stop()
            raise

    def query(self, query: str) -> list[float]:
        """Return the values of an instant query, of whatever labels."""
        return [float(one["value"][1]) for one in self.api("query", query=query)["result"]]

    def api(self, path: str, **parameters: str) -> Any:
        """Return the data of a call of the HTTP API."""
        status, raw = answer(f"{self._url}/api/v1/{path}?{urlencode(parameters)}")
        assert status == 200, raw
        return json.loads(raw)["data"]

    def scraped(self) -> None:
        """Wait until it has asked all hosts once more."""
        before = time.time()
        until(lambda: len(self.query(f"timestamp(up) > {before} and up == 1")) == 2)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self._log.close()

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, Path(self._log.name).read_text()
        try:
            return answer(f"{self._url}/-/ready")[0] == 200
        except URLError:
            return False


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with ExitStack() as started:
        store = RedisServer(tmp_path_factory.mktemp("redis"))
        started.callback(store.kill)
        yield Hosts(tmp_path_factory.mktemp("hosts"), store, started)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, hosts: Hosts) -> Iterator[Prometheus]:
    """One that has seen the hosts, has seen every metric there, and has seen them grow."""
    one = Prometheus(tmp_path_factory.mktemp("prometheus"), hosts)
    try:
        one.scraped()
        for _ in range(2):
            hosts.talk()
            one.scraped()
        yield one
    finally:
        one.stop()


def test_promtool_has_nothing_against_the_metrics(hosts: Hosts) -> None:
    """Neither of one process nor of workers that are added up."""
    hosts.talk()
    for host in hosts.all:
        assert answer(f"{host.url}/metrics")[0] == 401
        status, text = answer(f"{host.url}/metrics", hosts.key)
        assert status == 200
        assert b"caf_turns_total" in text
        promtool("check", "metrics", stdin=text)


def test_promtool_reads_the_alarms_and_the_dashboard(tmp_path: Path) -> None:
    """The queries of the dashboard as rules that record them."""
    promtool("check", "rules", DEPLOY / "alerts.yml")
    told = (ROOT / "docs" / "observability.md").read_text()
    (group,) = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    assert [rule["alert"] for rule in group["rules"]] == re.findall(r"^\| `(Caf\w+)` \|", told, re.MULTILINE)
    rules = [{"record": f"panel:{n}", "expr": filled_in(query)} for n, query in enumerate(QUERIES.values())]
    path = tmp_path / "dashboard.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", path)


@pytest.mark.parametrize("panel", QUERIES)
def test_prometheus_has_something_for_the_panel(prometheus: Prometheus, panel: str) -> None:
    """A number, where something of that kind has happened."""
    values = prometheus.query(filled_in(QUERIES[panel]))
    assert values
    assert not any(math.isnan(value) for value in values), values


def test_every_turn_is_counted_once(prometheus: Prometheus, hosts: Hosts) -> None:
    """Whichever worker is asked; also what the last second has brought."""
    for _ in range(3):
        hosts.talk()
        prometheus.scraped()
        assert prometheus.query("sum(caf_turns_total)") == [hosts.turns]


def test_grafana_finds_the_chatbots(prometheus: Prometheus) -> None:
    """The values of the variable by which panels are filtered."""
    found = prometheus.api("label/chatbot/values", **{"match[]": "caf_turns_total"})
    assert sorted(found) == ["away", "open", "schizophrenia", "shadowed"]


def test_the_alarms_go_off(prometheus: Prometheus) -> None:
    """Those that what has happened is a reason for."""

    def ringing() -> set[str]:
        return {one["labels"]["alertname"] for one in prometheus.api("alerts")["alerts"] if one["state"] == "firing"}

    until(lambda: len(ringing()) >= 5)
    assert ringing() == {"CafEmergency", "CafJudgesFail", "CafDeliveredUnjudged", "CafTurnsFail", "CafCircuitOpen"}

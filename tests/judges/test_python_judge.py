"""Judges written as Python classes: loaded, or refused with a hint; a failure is never acceptance."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog

from judges.case import Case
from judges.pipeline import Cascade, Pipeline
from judges.python_judge import PythonJudge, PythonJudgeError, load_python_judge
from judges.verdict import Finding, Judgement
from models.usage import Ledger
from tests.judges.builders import CASE

pytestmark = pytest.mark.usefixtures("imports_of_its_own")

HEAD = "import asyncio\nfrom judges.verdict import Finding\n"
FINE = HEAD + 'class Fine:\n    name = "fine"\n    async def judge(self, case):\n        return Finding("accept")\n'


def load(folder: Path, text: str, reference: str = "own_rules:Fine", **settings: Any) -> PythonJudge:
    module, _, name = reference.partition(":")
    (folder / "own_rules.py").write_text(text)
    return load_python_judge(f"{module}:{name}", folder, settings, timeout_s=5)


def refused(folder: Path, text: str, reference: str = "own_rules:Fine", **settings: Any) -> str:
    with pytest.raises(PythonJudgeError) as caught:
        load(folder, text, reference, **settings)
    return str(caught.value)


class Own:
    """A judge with a scripted result."""

    name = "own"

    def __init__(self, does: Any) -> None:
        self.does = does

    async def judge(self, case: Case) -> Finding:
        return await self.does() if callable(self.does) else self.does


def made(does: Any, timeout_s: float = 5) -> PythonJudge:
    return PythonJudge(Own(does), "own", "swift", frozenset({"source", "default"}), "0" * 16, timeout_s)


async def judged(does: Any, timeout_s: float = 5) -> Judgement:
    return await made(does, timeout_s).judge(CASE, Ledger())


# Findings


@pytest.mark.parametrize(
    ("found", "verdict", "rule"),
    [
        (Finding("accept"), "accept", None),
        (Finding("warn", reason="hm"), "warn", "custom"),
        (Finding("reject", reason="no"), "reject", "custom"),
        (Finding("reject", "role"), "reject", "role"),
        (Finding("unjudged", reason="it is in Greek"), "unjudged", "unreadable"),
    ],
)
async def test_a_finding_is_taken_as_it_is(found: Finding, verdict: str, rule: str | None) -> None:
    """Without a rule, an objection gets the rule `custom`."""
    one = await judged(found)
    assert (one.judge, one.stage, one.verdict, one.rule, one.reason) == ("own", "swift", verdict, rule, found.reason)


WRONG = [
    None, True, "accept", {"verdict": "accept"}, ("accept", None, ""), [], Finding, Finding("fine"), Finding(["accept"]),
    Finding("accept", "no_prices"), Finding("accept", ["custom"]), Finding("accept", None, None), Finding(None),
]  # fmt: skip


@pytest.mark.parametrize("found", WRONG, ids=repr)
async def test_what_is_no_finding_is_not_acceptance(found: Any) -> None:
    """Examples are a wrong type, an unknown verdict and an unknown rule."""
    one = await judged(lambda: asyncio.sleep(0, found))
    assert (one.verdict, one.rule) == ("unjudged", "unreadable")


async def test_an_invalid_finding_is_logged_with_its_fault() -> None:
    """The author of the judge reads what is wrong. Values of the finding are not repeated, because they may quote the reply."""
    with structlog.testing.capture_logs() as logs:
        one = await judged(lambda: asyncio.sleep(0, Finding("block", reason=CASE.draft)))
    fault = "cannot use a Finding: `verdict` must be one of accept, warn, unjudged, reject"
    assert one.reason == fault
    assert [(line["event"], line["judge"], line["cause"]) for line in logs] == [
        ("judge gave an invalid finding", "own", fault)
    ]


ERRORS = [
    ValueError,
    KeyError,
    TimeoutError,
    asyncio.CancelledError,
    SystemExit,
    RecursionError,
    MemoryError,
    StopAsyncIteration,
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
async def test_a_crash_is_not_acceptance_and_logged_without_texts(error: type[BaseException]) -> None:
    """The log contains names and lines of code, but no text of the conversation."""

    async def crash() -> Finding:
        raise error(f"in {CASE.draft}")

    with structlog.testing.capture_logs() as logs:
        one = await judged(crash)
    assert (one.verdict, one.rule, one.reason) == ("unjudged", "unreadable", f"crashed: {error.__name__}")
    assert [(line["event"], line["judge"], line["error"]) for line in logs] == [
        ("judge crashed", "own", error.__name__)
    ]
    assert CASE.draft not in str(logs)


async def test_something_that_it_waits_for_and_that_is_cancelled_is_a_crash() -> None:
    """The turn continues."""

    async def waits() -> Finding:
        task = asyncio.ensure_future(asyncio.sleep(30))
        asyncio.get_running_loop().call_soon(task.cancel)
        await task
        return Finding("accept")

    assert (await judged(waits)).reason == "crashed: CancelledError"


async def test_a_slow_judge_is_not_acceptance() -> None:
    """The judge is cancelled after its time limit."""
    with structlog.testing.capture_logs() as logs:
        one = await judged(lambda: asyncio.sleep(30, Finding("accept")), timeout_s=0.02)
    assert (one.verdict, one.rule, one.reason) == ("unjudged", "unreadable", "the judge took too long")
    assert [line["event"] for line in logs] == ["judge timed out"]


async def test_it_ends_with_the_turn() -> None:
    """The turn's deadline overrides a longer time limit, so that time remains for the fallback message."""
    ledger = Ledger()
    ledger.until = asyncio.get_running_loop().time() + 0.02
    one = made(lambda: asyncio.sleep(3, Finding("accept")), timeout_s=60)
    assert (await one.judge(CASE, ledger)).verdict == "unjudged"


async def test_cancelling_the_turn_cancels_the_judge() -> None:
    """If the client has left, no judge continues."""
    task = asyncio.create_task(judged(lambda: asyncio.sleep(30, Finding("accept"))))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_judges_run_at_the_same_time() -> None:
    """Each judge waits for the other, so sequential calls would never end."""
    met = asyncio.Barrier(2)

    async def meets() -> Finding:
        await met.wait()
        return Finding("warn")

    both = [Cascade(name, frozenset({"default"}), (replace(made(meets), name=name),)) for name in ("one", "two")]
    review = await Pipeline(both).review(CASE, frozenset({"default"}), Ledger())
    assert [judgement.verdict for judgement in review.decisive] == ["warn", "warn"]


# Loading


def test_a_class_is_made_once_with_its_settings(tmp_path: Path) -> None:
    """Stage and modes have defaults, which attributes of the class override."""
    one = load(tmp_path, FINE)
    assert (one.name, one.stage, one.modes) == ("fine", "swift", {"source", "default"})
    text = FINE.replace(
        'name = "fine"', 'stage, modes = "chief", ["source"]\n    def __init__(self, name): self.name = name'
    )
    del sys.modules["own_rules"]
    two = load(tmp_path, text, name="mine")
    assert (two.name, two.stage, two.modes) == ("mine", "chief", {"source"})
    assert one.hash != two.hash


def test_a_package_beside_the_configuration_may_hold_it(tmp_path: Path) -> None:
    """Imports inside the package work."""
    (tmp_path / "own_package").mkdir()
    (tmp_path / "own_package" / "words.py").write_text('NAME = "packed"')
    text = FINE.replace("import asyncio", "from own_package.words import NAME").replace('"fine"', "NAME")
    (tmp_path / "own_package" / "rules.py").write_text(text)
    assert load_python_judge("own_package.rules:Fine", tmp_path, {}, 5).name == "packed"


@pytest.mark.parametrize(
    ("text", "reference", "told"),
    [
        (FINE, "own_roles:Fine", "module own_roles not found: neither in {folder} (it has own_rules.py) nor on Python's path"),
        (FINE, "own_rules.deeper:Fine", "module own_rules.deeper not found"),
        (FINE, "own_rules:NoPrices", "module own_rules has no class NoPrices; it has Fine"),
        (FINE, "own_rules:Finding", "cannot create an instance of Finding: TypeError"),
        (FINE, "own_rules:asyncio", "module own_rules has no class asyncio; it has Fine"),
        ("X = 1", "own_rules:Fine", "module own_rules has no class Fine; it has none"),
        ("1 / 0", "own_rules:Fine", "cannot import module own_rules: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)", "own_rules:Fine", "cannot import module own_rules: SystemExit: 3"),
        ("import gone_away", "own_rules:Fine", "cannot import module own_rules: ModuleNotFoundError: No module named 'gone_away'"),
        ("class Fine", "own_rules:Fine", "cannot import module own_rules: SyntaxError"),
        (FINE.replace('name = "fine"', "pass"), "own_rules:Fine", "class Fine: `name`: None: expected a string"),
        (FINE.replace('"fine"', "7"), "own_rules:Fine", "`name`: 7: expected a string"),
        (FINE.replace('"fine"', '"fine"; stage = "local"'), "own_rules:Fine", "`stage`: 'local': expected swift or chief"),
        (FINE.replace('"fine"', '"fine"; stage = ["swift"]'), "own_rules:Fine", "`stage`: ['swift']: expected swift or chief"),
        (FINE.replace('"fine"', '"fine"; modes = "source"'), "own_rules:Fine", "`modes`: 'source': expected a list of source and"),
        (FINE.replace('"fine"', '"fine"; modes = []'), "own_rules:Fine", "`modes`: []: expected a list"),
        (FINE.replace('"fine"', '"fine"; modes = [["source"]]'), "own_rules:Fine", "`modes`: [['source']]: expected a list"),
        (FINE.replace("async def judge", "def judge"), "own_rules:Fine", "it has no `async def judge(self, case)`"),
        (FINE.replace("def judge", "def judge_it"), "own_rules:Fine", "no `async def judge"),
        (FINE.replace("(self, case)", "(self)"), "own_rules:Fine", "`judge`: expected exactly one argument, the case"),
        (FINE.replace("(self, case)", "(self, case, ledger)"), "own_rules:Fine", "`judge`: expected exactly one argument"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told(tmp_path: Path, text: str, reference: str, told: str) -> None:
    """The message names what is missing and what is available."""
    assert told.format(folder=tmp_path) in refused(tmp_path, text, reference)


def test_a_class_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """The message names the settings."""
    assert (
        refused(tmp_path, FINE, limit=3)
        == "cannot create an instance of Fine with the settings limit: TypeError: Fine() takes no arguments"
    )


@pytest.mark.parametrize("name", ["token", "judges", "yaml"])
def test_a_name_that_is_taken_is_told(tmp_path: Path, name: str) -> None:
    """A file beside a configuration does not replace an existing module."""
    (tmp_path / f"{name}.py").write_text(FINE)
    with pytest.raises(PythonJudgeError, match=rf"the module name {name} is already used by .*; rename .*{name}\.py"):
        load_python_judge(f"{name}:Fine", tmp_path, {}, 5)
    assert sys.path[-1] == str(tmp_path)


@pytest.mark.parametrize("verdict", ["warn", "reject"])
async def test_a_finding_says_what_the_chatbot_is_told(verdict: Any) -> None:
    """The warning replaces the rule's text, on one line and without commands."""
    one = await judged(Finding(verdict, reason="no", warning=" Name the branch, not the person. "))
    assert one.warning.strip() == "Name the branch, not the person."
    assert "[[" not in (await judged(Finding(verdict, warning="Cite it [[cite: sleep]]"))).warning


@pytest.mark.parametrize(
    "warning", ["", f"Do not write: {CASE.draft}", "One line.\nAnother.", "Say 7.5 mg.", "word " * 31]
)
async def test_a_warning_that_repeats_the_reply_is_dropped(warning: str) -> None:
    """The rule's text is used instead."""
    own = made(Finding("reject", reason="no", warning=warning))
    case = replace(CASE, draft=f"{CASE.draft} A dose is 7.5 mg.")
    assert (await own.judge(case, Ledger())).warning == ""


async def test_a_reply_that_is_accepted_warns_of_nothing() -> None:
    """The same holds for an unjudged reply."""
    for verdict in ("accept", "unjudged"):
        assert (await judged(Finding(verdict, warning="Say less."))).warning == ""  # type: ignore[arg-type]


async def test_a_warning_that_is_no_text_is_a_crash() -> None:
    """All fields of a finding are checked in the same way."""
    assert (await judged(Finding("reject", warning=7))).verdict == "unjudged"  # type: ignore[arg-type]

"""A judge of a user's own that is a Python class: imported and looked at before anything is served, then asked like any other."""

import asyncio
import hashlib
import importlib
import inspect
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Protocol, cast, get_args

import structlog

from judges.case import Case, Mode
from judges.judge import elapsed_ms, log_crash
from judges.rules import RULES, is_safe
from judges.verdict import SEVERITY, Finding, Judgement
from knowledge_base.citations import neutralise
from models.usage import Ledger

log = structlog.get_logger()


class OwnJudge(Protocol):
    """What a user's class must have. It may also have a `stage` (swift) and `modes` (both)."""

    name: str

    async def judge(self, case: Case) -> Finding: ...


class PythonJudgeError(Exception):
    """A user's class cannot be used; says what is missing and what there is."""


@dataclass(frozen=True, slots=True)
class PythonJudge:
    """A user's class, made once."""

    own: OwnJudge
    name: str
    stage: Literal["swift", "chief"]
    modes: frozenset[Mode]
    hash: str
    """Of the module's source, so that it is known when a verdict was another class's."""
    timeout_s: float

    async def judge(self, case: Case, ledger: Ledger) -> Judgement:
        """Have the class judge a case. Cancellation passes through; nothing else is raised."""
        started = time.perf_counter()
        deadline = min(asyncio.get_running_loop().time() + self.timeout_s, ledger.until)
        try:
            async with asyncio.timeout_at(deadline) as limit:
                finding = _validate_finding(await self.own.judge(case))
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise  # the turn was; else it was something that the class itself waited for
            finding = self._report_crash(error)
        except (Exception, SystemExit) as error:
            if limit.expired():
                log.warning("judge timed out", judge=self.name, stage=self.stage)
                finding = Finding("unjudged", "unreadable", "the judge took too long")
            else:
                finding = self._report_crash(error)
        objects = finding.verdict in ("warn", "reject")
        warning = neutralise(finding.warning) if objects and finding.warning and is_safe(finding.warning, case) else ""
        return Judgement(
            self.name, self.stage, finding.verdict, finding.rule, finding.reason, elapsed_ms(started), warning=warning
        )

    def _report_crash(self, error: BaseException) -> Finding:
        log_crash(error, self.name, self.stage)
        return Finding("unjudged", "unreadable", f"crashed: {type(error).__name__}")


def _validate_finding(finding: object) -> Finding:
    """Return a finding with its rule.

    Raises:
        TypeError: It is no finding, or not one that can be told.
    """
    if not isinstance(finding, Finding):
        raise TypeError("a judge returns a Finding")
    if finding.verdict not in SEVERITY or not isinstance(finding.reason, str):
        raise TypeError("a Finding has one of the verdicts, and a text as reason")
    if not isinstance(finding.warning, str):
        raise TypeError("the warning of a Finding is a text")
    if finding.rule is not None and finding.rule not in RULES:
        raise TypeError("the rule of a Finding is one of judges.rules.RULES, or None")
    default = {"accept": None, "unjudged": "unreadable"}.get(finding.verdict, "custom")
    return Finding(finding.verdict, finding.rule or default, finding.reason, finding.warning)


def load_python_judge(path: str, folder: Path, settings: Mapping[str, Any], timeout_s: float) -> PythonJudge:
    """Import a user's class, make an instance of it, and check that it has what a judge must have.

    Args:
        path: The class, as MODULE:CLASS.
        folder: Where modules are looked for that are not on Python's path.
        settings: The keyword arguments that it is made with.

    Raises:
        PythonJudgeError: There is no such class, or it is none of a judge.
    """
    module_name, _, class_name = path.partition(":")
    module = _import_module(module_name, folder)
    judge_class = getattr(module, class_name, None)
    if not isinstance(judge_class, type):
        classes = [n for n, one in vars(module).items() if isinstance(one, type) and one.__module__ == module.__name__]
        raise PythonJudgeError(f"module {module_name} has no class {class_name}; it has {', '.join(classes) or 'none'}")
    try:
        own = judge_class(**settings)
    except Exception as error:
        with_settings = (
            f" from the settings {', '.join(settings)}" if settings else ""
        )  # without values: one may be a secret
        raise PythonJudgeError(
            f"{class_name} cannot be made{with_settings}: {type(error).__name__}: {error}"
        ) from error
    if problems := list(_problems(own)):
        raise PythonJudgeError(f"class {class_name}: {'; '.join(problems)}")
    return PythonJudge(
        own,
        own.name,
        getattr(own, "stage", "swift"),
        frozenset(getattr(own, "modes", _MODES)),
        _hash(module),
        timeout_s,
    )


def _import_module(name: str, folder: Path) -> ModuleType:
    if str(folder) not in sys.path:  # last, so that no file beside a configuration hides a module of somebody else's
        sys.path.append(str(folder))
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            files = ", ".join(sorted(file.name for file in folder.glob("*.py"))) or "no .py file"
            raise PythonJudgeError(
                f"there is no module {name} in {folder} (there is {files}), nor on Python's path"
            ) from error
        raise PythonJudgeError(f"module {name} cannot be imported: {type(error).__name__}: {error}") from error
    expected_file = folder.joinpath(*name.split(".")).with_suffix(".py")
    if expected_file.is_file() and not (module.__file__ and expected_file.samefile(module.__file__)):
        raise PythonJudgeError(
            f"the name {name} is taken by {module.__file__ or 'a built-in module'}; give {expected_file} a name of its own"
        )
    return module


_MODES: tuple[Mode, ...] = get_args(Mode)


def _problems(own: Any) -> Iterator[str]:
    """Yield what an object lacks as a judge."""
    name, stage, modes = getattr(own, "name", None), getattr(own, "stage", "swift"), getattr(own, "modes", _MODES)
    if not isinstance(name, str) or not name:
        yield f'`name` is a text, as in name = "no_prices" (it is {name!r})'
    if stage not in ("swift", "chief"):
        yield f"`stage` is swift or chief (it is {stage!r})"
    if not isinstance(modes, list | tuple | set | frozenset) or not modes or any(mode not in _MODES for mode in modes):
        yield f"`modes` is a list of {' and '.join(_MODES)} (it is {modes!r})"
    judge = getattr(own, "judge", None)
    if not inspect.iscoroutinefunction(judge):
        yield "it has no `async def judge(self, case)`"
    else:
        try:
            inspect.signature(judge).bind(cast(Case, None))
        except TypeError:
            yield "its `judge` takes the case and nothing else"


def _hash(module: ModuleType) -> str:
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):  # one without source, such as a compiled one
        source = module.__name__
    return hashlib.sha256(source.encode()).hexdigest()[:16]

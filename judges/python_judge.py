"""Loads and runs a judge that a user has written as a Python class. The class is imported and checked at startup."""

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
    """The interface that a user's judge class must implement.

    `stage` (`swift` or `chief`; default: `swift`) and `modes` (default: both modes) are optional attributes.
    """

    name: str

    async def judge(self, case: Case) -> Finding: ...


class PythonJudgeError(Exception):
    """A user's judge class cannot be imported, created or used. The message names the problem and the expected value."""


@dataclass(frozen=True, slots=True)
class PythonJudge:
    """A judge that calls an instance of a user's class."""

    own: OwnJudge
    name: str
    stage: Literal["swift", "chief"]
    modes: frozenset[Mode]
    hash: str
    """First 16 hex digits of the SHA-256 of the module's source. The hash tells verdicts of different versions apart."""
    timeout_s: float
    """Time limit of one call, in seconds."""

    async def judge(self, case: Case, ledger: Ledger) -> Judgement:
        """Ask the user's judge for a finding. If the judge fails or exceeds its time limit, return `unjudged`."""
        started = time.perf_counter()
        deadline = min(asyncio.get_running_loop().time() + self.timeout_s, ledger.until)
        try:
            async with asyncio.timeout_at(deadline) as limit:
                finding = _validate_finding(await self.own.judge(case))
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise  # the turn was cancelled; in the other case, a task that the class awaited was cancelled
            finding = self._report_failure(error)
        except (Exception, SystemExit) as error:
            if limit.expired():
                log.warning("judge timed out", judge=self.name, stage=self.stage)
                finding = Finding("unjudged", "unreadable", "the judge took too long")
            else:
                finding = self._report_failure(error)
        objects = finding.verdict in ("warn", "reject")
        warning = neutralise(finding.warning) if objects and finding.warning and is_safe(finding.warning, case) else ""
        return Judgement(
            self.name, self.stage, finding.verdict, finding.rule, finding.reason, elapsed_ms(started), warning=warning
        )

    def _report_failure(self, error: BaseException) -> Finding:
        if isinstance(error, InvalidFinding):
            log.error("judge gave an invalid finding", judge=self.name, stage=self.stage, cause=str(error))
            return Finding("unjudged", "unreadable", str(error))
        log_crash(error, self.name, self.stage)
        return Finding("unjudged", "unreadable", f"crashed: {type(error).__name__}")


class InvalidFinding(TypeError):
    """The result of a user's judge is not a valid `Finding`. The message quotes no text of the result."""


def _validate_finding(finding: object) -> Finding:
    """Return the result of a user's judge after validation. A finding without a rule gets a default rule.

    Raises:
        InvalidFinding: The result is not a `Finding`, or one of its fields is invalid.
    """
    if not isinstance(finding, Finding):
        raise InvalidFinding(f"cannot use the result of a judge: expected a Finding, got {type(finding).__name__}")
    if not isinstance(finding.verdict, str) or finding.verdict not in SEVERITY:
        raise InvalidFinding(f"cannot use a Finding: `verdict` must be one of {', '.join(SEVERITY)}")
    if not isinstance(finding.reason, str):
        raise InvalidFinding(f"cannot use a Finding: `reason` must be a string, got {type(finding.reason).__name__}")
    if not isinstance(finding.warning, str):
        raise InvalidFinding(f"cannot use a Finding: `warning` must be a string, got {type(finding.warning).__name__}")
    if finding.rule is not None and not (isinstance(finding.rule, str) and finding.rule in RULES):
        raise InvalidFinding(f"cannot use a Finding: `rule` must be None or one of {', '.join(RULES)}")
    default = {"accept": None, "unjudged": "unreadable"}.get(finding.verdict, "custom")
    return Finding(finding.verdict, finding.rule or default, finding.reason, finding.warning)


def load_python_judge(path: str, folder: Path, settings: Mapping[str, Any], timeout_s: float) -> PythonJudge:
    """Import a user's judge class, create an instance, and check that the instance has the interface of `OwnJudge`.

    Args:
        path: The class, as MODULE:CLASS.
        folder: The folder to search for modules that are not on Python's path.
        settings: Keyword arguments for the class.
        timeout_s: Time limit of one call, in seconds.

    Raises:
        PythonJudgeError: The class does not exist, raises an error when it is created, or lacks a part of the interface.
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
            f" with the settings {', '.join(settings)}" if settings else ""
        )  # names only: a value may be a secret
        raise PythonJudgeError(
            f"cannot create an instance of {class_name}{with_settings}: {type(error).__name__}: {error}"
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
    if str(folder) not in sys.path:  # last, so that no file beside a configuration hides an installed module
        sys.path.append(str(folder))
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            files = ", ".join(sorted(file.name for file in folder.glob("*.py"))) or "no .py file"
            raise PythonJudgeError(
                f"module {name} not found: neither in {folder} (it has {files}) nor on Python's path"
            ) from error
        raise PythonJudgeError(f"cannot import module {name}: {type(error).__name__}: {error}") from error
    expected_file = folder.joinpath(*name.split(".")).with_suffix(".py")
    if expected_file.is_file() and not (module.__file__ and expected_file.samefile(module.__file__)):
        raise PythonJudgeError(
            f"the module name {name} is already used by {module.__file__ or 'a built-in module'}; rename {expected_file}"
        )
    return module


_MODES: tuple[Mode, ...] = get_args(Mode)


def _problems(own: Any) -> Iterator[str]:
    """Yield a message for each part of `OwnJudge` that a user's object lacks or gets wrong."""
    name, stage, modes = getattr(own, "name", None), getattr(own, "stage", "swift"), getattr(own, "modes", _MODES)
    if not isinstance(name, str) or not name:
        yield f'`name`: {name!r}: expected a string, such as name = "no_prices"'
    if stage not in ("swift", "chief"):
        yield f"`stage`: {stage!r}: expected swift or chief"
    if not isinstance(modes, list | tuple | set | frozenset) or not modes or any(mode not in _MODES for mode in modes):
        yield f"`modes`: {modes!r}: expected a list of {' and '.join(_MODES)}"
    judge = getattr(own, "judge", None)
    if not inspect.iscoroutinefunction(judge):
        yield "it has no `async def judge(self, case)`"
    else:
        try:
            inspect.signature(judge).bind(cast(Case, None))
        except TypeError:
            yield "`judge`: expected exactly one argument, the case"


def _hash(module: ModuleType) -> str:
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):  # a module without source, such as a compiled one
        source = module.__name__
    return hashlib.sha256(source.encode()).hexdigest()[:16]

"""Regular expressions take time linear in the length of a text, whatever the text.

One call of `re` holds the interpreter lock: no thread and no limit helps against a pattern that is slow on 6 kB of line breaks.
"""

import ast
import importlib
import inspect
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assistants.gesundheit.language import load_language
from assistants.gesundheit.matcher import Weights
from assistants.gesundheit.settings import KNOWLEDGE_BASE
from assistants.hippocrates.settings import demo_vocabulary
from judges.case import Topic
from judges.local import explicit
from knowledge_base.pairs.pair import load_taxonomy
from tests.pumped_texts import Pump, near_misses, pumps
from tests.test_architecture import MAY_IMPORT, ROOT

FUNCTIONS = {"compile", "search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn"}
SHORT = 256
"""Characters of the shorter text; the longer one has 16 times as many."""
LINEAR_RATIO = 48
"""Times as long as the short text that the long one may take: linear is 16, quadratic 256."""
MEASURABLE, LONGEST = 1e-4, 8_000
"""Seconds that the short text takes at least, or it is made longer, up to so many characters."""
LONG = 1.0
"""Seconds of the longer text above which both are measurable."""
SLOWEST = 20e-6
"""Seconds a character above which nothing longer is tried."""
WINDOW_LIMIT = 5e-3
"""Seconds that one pattern of danger may take for the characters that are searched at a time."""
PRODUCERS: Mapping[str, Callable[[Any], object]] = {
    "proxy/console/alarm_cards.py": lambda module: module.find_quote("a", "my life a a b"),
    "proxy/console/quote_marks.py": lambda module: module.mark_quotes("a", ["my life a a b"]),
    "judges/claims.py": lambda module: module._names("doc:1", "a"),
    "judges/local/explicit.py": lambda module: [
        module._load_aftermath.__wrapped__(),
        module.load_languages.__wrapped__(),
    ],
    "judges/local/reply.py": lambda module: module._load_phrases.__wrapped__(),
    "judges/topics.py": lambda module: [module._terms.__wrapped__(Topic(name)) for name in module.BUILT_IN],
    "knowledge_base/pairs/words.py": lambda module: [module.Words("german"), module.Words("english")],
    "knowledge_base/building/sections.py": lambda module: module.split_text("a " * 5_000 + "a" * 5_000, 100),
    "assistants/hippocrates/form.py": lambda module: module.Form(demo_vocabulary()),
    "assistants/gesundheit/language.py": lambda module: module.load_language("german").speakable("100 mmHg"),
    "assistants/gesundheit/matcher.py": lambda module: [
        module._Name("Hypertonie").is_in("Hypertonie"),
        module.Matcher([], load_taxonomy(KNOWLEDGE_BASE), Weights({}, 0, 1, 0), load_language("german")).without_names(
            "Hypertonie", "bluthochdruck"
        ),
    ],
    "scenarios/exchange.py": lambda module: module.parse_labels("supported=accept"),
}
"""Functions to call, for patterns that they make from their arguments or local names."""
TRUSTED = {
    "models/script.py": "`when` of a scripted model is written by the operator",
    "models/scripted.py": "`when` of a scripted model is written by the operator",
}
"""Files whose patterns are not ours, and why they are trusted."""


@dataclass(frozen=True, slots=True)
class Site:
    """A call of a function of `re`."""

    path: Path
    call: ast.Call
    name: str
    """What its result is assigned to."""

    @property
    def file(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def function(self) -> str:
        assert isinstance(self.call.func, ast.Attribute)
        return self.call.func.attr

    def pattern(self) -> re.Pattern[Any] | None:
        """Evaluate the pattern in its module; None: it is made from local names."""
        bound = inspect.signature(getattr(re, self.function)).bind(
            *self.call.args, **{str(one.arg): one.value for one in self.call.keywords}
        )
        nodes = [bound.arguments["pattern"], bound.arguments.get("flags", ast.Constant(0))]
        try:
            return re.compile(*(evaluate(ast.fix_missing_locations(one), load(self.path)) for one in nodes))
        except NameError:
            return None

    def methods(self) -> set[str]:
        """Return the methods that the pattern is used with, as far as its name tells, else all that its file uses."""
        if self.function != "compile":
            return {self.function}
        name = self.name.rpartition(".")[2]
        files = [one.relative_to(ROOT).as_posix() for one in trees()] if re.match("[A-Z]", name) else [self.file]
        return {one for file in files for one in calls()[file, name]} or calls()[self.file, ""] or {"finditer"}


def load(path: Path) -> ModuleType:
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))


def evaluate(node: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), str(module.__file__), "eval"), vars(module))


@cache
def trees() -> dict[Path, ast.Module]:
    return {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for package in MAY_IMPORT
        for path in sorted((ROOT / package).rglob("*.py"))
    }


@cache
def calls() -> dict[tuple[str, str], set[str]]:
    """Return the methods of patterns that are called in a file on a name, and under no name all of that file."""
    methods: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in FUNCTIONS - {"compile"}:
                owner = node.value
                name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
                for key in (name, ""):
                    methods[path.relative_to(ROOT).as_posix(), key].add(node.attr)
    return methods


def assignments(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            yield ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target), node.value


@cache
def sites() -> list[Site]:
    return [
        Site(path, node, names.get(node, ""))
        for path, tree in trees().items()
        for names in [{part: name for name, value in assignments(tree) for part in ast.walk(value)}]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (path.relative_to(ROOT).as_posix() not in TRUSTED) and is_of_re(node.func)
    ]


def is_of_re(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in FUNCTIONS and ast.unparse(node.value) == "re"


class Recorder:
    """Stands for `re` in a module and notes the patterns by the line that they are used on."""

    def __init__(self) -> None:
        self.patterns: defaultdict[int, set[re.Pattern[Any]]] = defaultdict(set)

    def __getattr__(self, name: str) -> Any:
        function = getattr(re, name)
        if name not in FUNCTIONS:
            return function

        def record(*args: Any, **options: Any) -> Any:
            bound = inspect.signature(function).bind(*args, **options).arguments
            self.patterns[sys._getframe(1).f_lineno].add(re.compile(bound["pattern"], bound.get("flags", 0)))
            return function(*args, **options)

        return record


def recorded(path: Path) -> dict[int, set[re.Pattern[Any]]]:
    """Return the patterns that a module makes: its assignments are evaluated once more, and its producer is called."""
    module, recorder = load(path), Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "re", recorder)
        for node in trees()[path].body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                evaluate(node.value, module)
        PRODUCERS.get(path.relative_to(ROOT).as_posix(), id)(module)
    return recorder.patterns


@cache
def patterns() -> dict[Site, set[re.Pattern[Any]]]:
    """Return the patterns of each site."""
    plain = {site: site.pattern() for site in sites()}
    made = {path: recorded(path) for path in {site.path for site, pattern in plain.items() if pattern is None}}
    return {
        site: made[site.path].get(site.call.lineno, set()) if pattern is None else {pattern}
        for site, pattern in plain.items()
    }


RUN: Mapping[str, Callable[[re.Pattern[Any], Any], object]] = {
    "search": lambda pattern, text: pattern.search(text),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
}
"""What is measured: `findall`, `split`, `sub` and `subn` search as `finditer` does, and a search begins with a match."""


def measured(methods: set[str]) -> set[str]:
    """Return the methods to measure: those that others of the same pattern do not include."""
    kinds = {one if one in RUN else "finditer" for one in methods}
    return kinds - ({"search", "match"} if "finditer" in kinds else {"match"} if "search" in kinds else set())


def cpu(run: Callable[[], object]) -> float:
    """Return the CPU time of this thread in a call, in seconds: what other threads and processes do does not count."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def growth(pattern: re.Pattern[Any], method: str, pump: Pump) -> float:
    """Return how many times as long a pumped text takes that is 16 times as long; 0 if it plainly takes no time."""

    def run(size: int) -> float:
        text = pump.text(size)
        return cpu(partial(RUN[method], pattern, text if isinstance(pattern.pattern, str) else text.encode()))

    for size in (SHORT // 16, SHORT // 4, SHORT):  # the long text of an exponential pattern would never end
        if run(size) > size * SLOWEST and min(run(size) for _ in range(3)) > size * SLOWEST:
            return inf
    return ratio(run, SHORT)


def ratio(run: Callable[[int], float], size: int) -> float:
    """Measure once, and with care where that looks slow; both texts get longer until the short one takes some time."""
    short, long = run(size), run(16 * size)
    if long < MEASURABLE or long < LINEAR_RATIO / 2 * short:
        return 0
    short, long = (min(run(one) for _ in range(3)) for one in (size, 16 * size))
    return long / short if short > MEASURABLE or size > LONGEST or long > LONG else ratio(run, 4 * size)


def slow(pattern: re.Pattern[Any], methods: set[str]) -> Iterator[str]:
    """Yield how a pattern can be slowed down."""
    for method in measured(methods):
        for pump in pumps(pattern):
            if (times := growth(pattern, method, pump)) > LINEAR_RATIO:
                yield f"{method} takes {times:.0f} times as long for {pump}"
                break


def test_every_pattern_is_reached() -> None:
    """A call whose pattern is not reached fails: nothing else would prove it linear."""
    assert [f"{site.file}:{site.call.lineno}" for site, found in patterns().items() if not found] == []


def test_re_is_used_by_its_name_alone() -> None:
    """A pattern of another library, or a function of `re` by another name, would not be seen."""
    others = [
        f"{path}: {ast.unparse(node)}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and node.module in ("re", "regex"))
        or (
            isinstance(node, ast.Import)
            and any(one.name == "regex" or (one.name == "re" and one.asname) for one in node.names)
        )
    ]
    assert others == []


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_patterns_take_linear_time(package: str) -> None:
    """Sixteen times the text takes about sixteen times as long, for texts that repeat what a pattern repeats."""
    found = [
        f"{site.file}:{site.call.lineno}: {pattern.pattern!r:.80}: {problem}"
        for site, of_site in patterns().items()
        if site.file.startswith(f"{package}/")
        for pattern in of_site - windowed()
        for problem in slow(pattern, site.methods())
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "method"),
    [
        (r"^\s*(?:#|```)", "finditer"),
        (r"\s*,\s*", "finditer"),
        (r"[.!?]+$", "search"),
        (r"<(?=\s*/?\s*b)", "search"),
        (r"\[(?=[^\]]*\()", "finditer"),
        (r"a (?:x.*)y", "search"),
        (r"(?:a|b|ab)*c", "match"),
        (r"(?:very )*good", "search"),
        (r"(?:.*\n)*?-\n(?:-\n)+", "fullmatch"),
        (r'"([^"]*)" (.*?)>', "finditer"),
        (r"\w+@\w+\.com", "search"),
    ],
)
def test_walk_finds_slow_patterns(source: str, method: str) -> None:
    """Patterns of the kinds that were slow are found, by the texts that are derived from them."""
    assert list(slow(re.compile(source, re.M), {method}))


@cache
def windowed() -> set[re.Pattern[Any]]:
    """Return the patterns that are searched for in a few thousand characters at a time."""
    return {language.any_pattern for language in explicit.load_languages().values()}


@pytest.mark.parametrize("name", explicit.LANGUAGES)
def test_danger_is_looked_for_in_linear_time(name: str) -> None:
    """Each pattern of a language is fast on the texts that come near it; the slowest texts are looked through in linear time."""
    language = explicit.load_languages()[name]
    window = explicit.STEP + explicit.LONGEST_MATCH
    times: dict[Pump, float] = {}
    for pattern in language.patterns:
        for pump in near_misses(pattern.regex):
            run = partial(RUN["finditer"], pattern.regex, pump.text(window))
            times[pump] = cpu(run)
            if times[pump] > WINDOW_LIMIT:
                times[pump] = min(cpu(run) for _ in range(3))
    slowest = max(times, key=times.__getitem__)
    assert times[slowest] < WINDOW_LIMIT, slowest
    assert ratio(lambda size: cpu(partial(explicit.find_danger, slowest.text(size))), window) < LINEAR_RATIO

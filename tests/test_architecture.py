"""Dependencies point one way."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "models": set(),
    "knowledge_base": {"models"},
    "judges": {"knowledge_base", "models"},
    "scenarios": {"models"},
    "assistants": {"knowledge_base", "models"},
    "proxy": {"judges", "knowledge_base", "models"},
    "facilitators": {"scenarios", "knowledge_base", "models"},
    "scoring": {"facilitators", "scenarios", "knowledge_base", "models"},
    "cli": {"proxy", "judges", "knowledge_base", "models", "scenarios", "assistants", "facilitators", "scoring"},
}
"""What each package may import of the others."""
ALSO = {"proxy/app.py": {"assistants"}, "judges/evaluation": {"scenarios"}, "judges/training": {"scenarios"}}
"""create_app registers the embedded chatbot; judges are measured on scenarios, and learn from them."""


def imports(path: Path) -> set[str]:
    """Return the top-level packages that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_package_imports_only_what_lies_below_it(package: str) -> None:
    """No file of a package imports a package that it may not."""
    for path in (ROOT / package).rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        also = (may for place, may in ALSO.items() if name == place or name.startswith(f"{place}/"))
        allowed = MAY_IMPORT[package].union({package}, *also)
        assert imports(path) & set(MAY_IMPORT) <= allowed, name


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
    }
    code = f"import sys, proxy.app, cli.serve; print(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_local_judges_are_loaded_where_they_judge_alone() -> None:
    """Nothing imports them before a local stage or the local refiner is asked: a chatbot with model judges holds none of them."""
    code = "import sys, proxy.app, cli.serve; print(*[name for name in sys.modules if name.startswith('judges.local')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

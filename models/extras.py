"""Builds the shell command that installs an optional extra of CAF.

The command names the source that CAF was installed from, because no package index has this project.
"""

import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "critical-analysis-filter"
_ROOT = Path(__file__).resolve().parents[1]
"""The folder that contains the packages of CAF: a checkout, or `site-packages`."""


def install_command(extra: str) -> str:
    """Return a shell command that installs an extra of pyproject.toml in the running Python environment.

    The command names the checkout, wheel or repository that CAF was installed from, or `PATH` if that source is unknown.
    """
    python, source = shlex.quote(sys.executable), _source()
    requirement = shlex.quote(f"{DISTRIBUTION}[{extra}] @ {source}" if "://" in source else f"{source}[{extra}]")
    package = f"-e {requirement}" if source == str(_ROOT) else requirement
    note = " (PATH: your checkout of CAF, or its wheel)" if source == _UNKNOWN else ""
    if find_spec("pip"):
        return f"{python} -m pip install {package}{note}"
    # Without pip, uv made the environment, or uvx made it for this run only.
    return f"uv pip install --python {python} {package}, or run uvx --from {requirement} caf{note}"


_UNKNOWN = "PATH"


def _source() -> str:
    """Return the source that CAF was installed from: the path of a checkout or wheel, a URL, or `PATH` if it is unknown."""
    if (_ROOT / "pyproject.toml").is_file():
        return str(_ROOT)
    from models.unique_keys import load_json  # imports YAML, which `caf --help` does not need

    try:
        record = load_json(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return _UNKNOWN
    url = str(record.get("url", ""))
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = unquote(parts.path)
        return path if Path(path).exists() else _UNKNOWN
    if version_control := record.get("vcs_info"):
        return f"{version_control['vcs']}+{url}@{version_control['commit_id']}"
    return url or _UNKNOWN

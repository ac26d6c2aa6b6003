"""No module escapes the check of the layers: import-linter sees them all, and nothing is imported by a string."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PATHS = sorted((SOURCE / "discreet").rglob("*.py"))

LAZY = {
    "__init__.py": "the public names, each imported on first use",
    "cli/program.py": "the commands, each imported when it is run; the command line is above all that it names",
    "lab/experiments.py": "the experiments, each imported when it runs",
    "accounting/__init__.py": "names that need arrays, on first use: who looks at a budget waits for no numpy",
    "mechanisms/__init__.py": "each on first use: who previews a count waits for no other mechanism",
    "noise/__init__.py": "names that need arrays, on first use: a ledger needs bits alone",
    "stream/__init__.py": "its names, each imported on first use: who schedules needs no scikit-learn",
    "answers/frames.py": "pandas, polars and pyarrow, where they are installed",
    "answers/plots/theme.py": "altair, where it is installed",
}
"""Where modules are imported by a name that is computed, and why no layer is crossed. A file that no longer does so is
struck off.
"""


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def importing_by_string(text: str) -> Iterator[str]:
    """Whatever can import a module whose name is a value; whether a module is there may be asked."""
    for node in ast.walk(ast.parse(text)) if re.search("importlib|runpy|__import__|exec|eval", text) else ():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in ("importlib", "runpy"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("importlib", "runpy"):
            yield from (alias.name for alias in node.names if alias.name not in ("resources", "find_spec", "metadata"))
        elif isinstance(node, ast.Name) and node.id in ("__import__", "exec", "eval"):
            yield node.id


def test_import_linter_sees_every_module() -> None:
    seen = grimp.build_graph("discreet", cache_dir=None).modules
    assert {name_of(path) for path in PATHS} <= seen


def test_every_folder_with_modules_is_a_package() -> None:
    for folder in {path.parent for path in PATHS}:
        assert (folder / "__init__.py").is_file(), folder


def test_every_package_has_a_layer() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = (contract for contract in settings["contracts"] if contract["type"] == "layers")
    assert contract["containers"] == ["discreet"]
    layered = {name.strip(" ()") for layer in contract["layers"] for name in layer.split("|")}
    top = {path.relative_to(SOURCE / "discreet").parts[0].removesuffix(".py") for path in PATHS} - {"__init__"}
    assert top <= layered


def test_nothing_is_imported_by_a_string() -> None:
    found = {
        str(path.relative_to(SOURCE / "discreet")): names
        for path in PATHS
        if (names := set(importing_by_string(path.read_text(encoding="utf-8"))))
    }
    assert found == {name: {"import_module"} for name in LAZY}


def test_what_imports_lazily_stays_in_its_package() -> None:
    """But for the table of public names, which stands above every layer."""
    for name in LAZY.keys() - {"__init__.py"}:
        own = f"discreet.{name.partition('/')[0]}."
        tree = ast.parse((SOURCE / "discreet" / name).read_text(encoding="utf-8"))
        texts = [
            leaf.value for leaf in ast.walk(tree) if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)
        ]
        assert all(text.startswith(own) for text in texts if text.startswith("discreet.")), name

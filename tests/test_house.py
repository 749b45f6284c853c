"""The house rules as tests: floors, sizes, docstrings, imports, packages, registry, dead files."""

from __future__ import annotations

import ast
import fnmatch
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import millpond.server.database
from millpond.operators.functions.aggregates import AGGREGATES
from millpond.operators.functions.registry import SCALARS, TABLE_FUNCTIONS

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("storage", "operators", "sql", "planner", "runtime", "server")
"""From the ground up: a floor imports itself and those before it."""
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
CLASS_LINES_PLAIN = 8
FUNCTION_LINES_PLAIN = 25
"""Public things longer than this say what they are for."""
EVERYWHERE = ("*",)
THIRD_PARTY = {
    "numpy": EVERYWHERE,
    "pyarrow": EVERYWHERE,
    "sqlglot": ("sql/*.py", "planner/translate*.py", "planner/dml.py", "planner/dependencies.py"),
    "rocksdict": ("storage/rocks.py",),
    "numba": ("storage/kernels*.py",),
    "confluent_kafka": ("server/connectors/kafka*.py", "storage/log_kafka*.py", "server/bench/kafka.py"),
    "re2": ("operators/functions/matching.py",),
    "regex": ("operators/functions/matching.py",),
    "uvloop": ("server/serve.py", "server/listener.py"),
    "rich": ("server/demo*.py",),
    "prometheus_client": ("server/metrics*.py",),
    "psycopg": ("server/bench/*.py", "server/demo*.py"),
    "duckdb": ("server/bench/*.py",),
}
"""Which files may import what is not of the standard library (DESIGN section 9)."""
POSTPONED = re.compile(r"\b(TODO|FIXME|XXX|HACK|WIP)\b|\bfor now\b", re.IGNORECASE)
VAGUE = re.compile(r"(Manager|Helper|Util|Utils)$")


def product_files() -> list[Path]:
    files = [ROOT / "__init__.py"]
    for floor in FLOORS:
        files += sorted(path for path in (ROOT / floor).rglob("*.py") if "__pycache__" not in path.parts)
    return files


def all_files() -> list[Path]:
    tests = [path for path in (ROOT / "tests").rglob("*.py") if "__pycache__" not in path.parts]
    return product_files() + sorted(tests)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module(path: Path) -> tuple[str, ...]:
    """The parts of a module's name below `millpond`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def package(path: Path) -> tuple[str, ...]:
    return path.relative_to(ROOT).parent.parts


def imports(path: Path) -> Iterator[tuple[int, tuple[str, ...], bool]]:
    """(line, parts of the imported name, whether it is of ours), one for each name imported."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, tuple(alias.name.split(".")), False
        elif isinstance(node, ast.ImportFrom):
            parts = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                above = package(path)
                parts = above[: len(above) - node.level + 1] + parts
            for alias in node.names:
                yield node.lineno, (*parts, alias.name) if node.level else parts, bool(node.level)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def complain(findings: list[str]) -> None:
    assert not findings, "\n" + "\n".join(findings)


def test_floors_import_downward() -> None:
    findings: list[str] = []
    for path in product_files():
        if path == ROOT / "__init__.py":
            continue
        floor = FLOORS.index(module(path)[0])
        for line, parts, ours in imports(path):
            if ours and parts and parts[0] in FLOORS and FLOORS.index(parts[0]) > floor:
                findings.append(f"{name(path)}:{line}: imports {'.'.join(parts)}, a floor above")
    complain(findings)


def test_imports_between_ours_are_relative() -> None:
    findings = [
        f"{name(path)}:{line}: import {'.'.join(parts)} by a relative path"
        for path in product_files()
        for line, parts, ours in imports(path)
        if not ours and parts[0] in ("millpond", *FLOORS)
    ]
    complain(findings)


def test_third_party_packages_stay_in_their_files() -> None:
    findings: list[str] = []
    for path in product_files():
        for line, parts, ours in imports(path):
            if ours or parts[0] in sys.stdlib_module_names or parts[0] in ("millpond", *FLOORS):
                continue
            allowed = THIRD_PARTY.get(parts[0], ())
            if not any(fnmatch.fnmatch(name(path), pattern) for pattern in allowed):
                findings.append(f"{name(path)}:{line}: {parts[0]} may not be imported here")
    complain(findings)


def test_files_are_short() -> None:
    lengths = [(len(path.read_text().splitlines()), path) for path in all_files()]
    complain([f"{name(path)}: {lines} lines" for lines, path in lengths if lines > FILE_LINES_MAX])


def test_functions_are_short() -> None:
    complain([
        f"{name(path)}:{node.lineno}: {node.name} has {(node.end_lineno or 0) - node.lineno + 1} lines"
        for path in all_files()
        for node in functions(path)
        if (node.end_lineno or node.lineno) - node.lineno + 1 > FUNCTION_LINES_MAX
    ])  # fmt: skip


def test_modules_say_what_they_are_for() -> None:
    complain([name(path) for path in all_files() if path.read_text() and not ast.get_docstring(tree(path))])


def _members(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public classes and functions of a module."""
    for node in tree(path).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name[0] != "_":
            yield node


def _explains_itself(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Errors and statements are named by PostgreSQL; what is short needs no words."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if isinstance(node, ast.ClassDef):
        error = any(keyword.arg == "code" for keyword in node.keywords)
        statement = any(isinstance(base, ast.Name) and base.id == "Statement" for base in node.bases)
        return error or statement or lines <= CLASS_LINES_PLAIN
    return bool(node.decorator_list) or lines <= FUNCTION_LINES_PLAIN


def test_public_things_are_documented() -> None:
    complain([
        f"{name(path)}:{node.lineno}: {node.name} has no docstring"
        for path in product_files()
        for node in _members(path)
        if not ast.get_docstring(node) and not _explains_itself(node)
    ])  # fmt: skip


def test_names_say_what_things_are() -> None:
    complain([
        f"{name(path)}:{node.lineno}: {node.name}"
        for path in product_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and VAGUE.search(node.name)
    ])  # fmt: skip


def _comments(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, str(node.value.value)


def test_nothing_is_put_off() -> None:
    complain([
        f"{name(path)}:{line}: {text.strip()[:60]}"
        for path in product_files()
        for line, text in _comments(path)
        if POSTPONED.search(text)
    ])  # fmt: skip


def test_package_list_is_the_tree() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = {
        ".".join(("millpond", *path.relative_to(ROOT).parent.parts))
        for path in product_files()
        if path.name == "__init__.py"
    }
    assert set(settings["tool"]["setuptools"]["packages"]) == found


def test_folders_of_modules_are_packages() -> None:
    folders = {path.parent for path in product_files()}
    complain([name(folder) for folder in folders if not (folder / "__init__.py").exists()])


def test_every_module_is_used() -> None:
    used: set[tuple[str, ...]] = set()
    for path in product_files():
        for _, parts, ours in imports(path):
            if ours:
                used |= {parts, parts[:-1]}
    complain([
        name(path)
        for path in product_files()
        if path.name not in ("__init__.py", "__main__.py") and module(path) not in used
    ])  # fmt: skip


def test_tests_mirror_the_floors() -> None:
    """A folder of tests is a floor, or is named by its method."""
    methods = {"golden", "laws", "oracle", "simulation", "end_to_end", "bench", "kafka"}
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders <= methods | set(FLOORS)


REGISTRIES = {"scalar": SCALARS, "table": TABLE_FUNCTIONS, "aggregate": AGGREGATES}


@pytest.mark.parametrize("registry", REGISTRIES.values(), ids=REGISTRIES.keys())
def test_functions_have_a_doc(registry: dict[str, list[object]]) -> None:
    assert millpond.server.database.Database, "the whole product is imported: all functions are registered"
    undocumented = {
        name for name, overloads in registry.items() for entry in overloads if not getattr(entry, "doc", "")
    }
    assert not undocumented, sorted(undocumented)

"""The docs agree with the code: generated tables, names of files and tests, links between pages."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FLOORS = ("storage", "operators", "sql", "planner", "runtime", "server", "tests", "docs")
FILE = re.compile(rf"(?<![\w/.])((?:{'|'.join(FLOORS)})/[\w./-]*\w\.(?:py|md|sql|txt|slt))(?:::(test_\w+))?")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")
FOOT = re.compile(r"^(?:Previous: \[[^\]]+\]\(([^)]+)\))?(?: · )?(?:Next: \[[^\]]+\]\(([^)]+)\))?$")
EXAMPLES = frozenset({"example"})
"""First words of file names that stand for a name the reader chooses."""


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_tables_are_up_to_date() -> None:
    made = generator()
    page = made.PAGE.read_text()
    assert made.generated(page) == page, "run .venv/bin/python docs/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_and_tests_named_in_docs_exist(page: Path) -> None:
    for path, test in FILE.findall(page.read_text()):
        if Path(path).stem in EXAMPLES:
            continue
        file = ROOT / path
        assert file.is_file(), f"{name(page)} names {path}"
        assert not test or f"def {test}(" in file.read_text(), f"{name(page)} names {path}::{test}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files(page: Path) -> None:
    for target, _ in LINK.findall(page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name(page)} links to {target}"


def test_every_page_is_reachable_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        targets = [target for target, _ in LINK.findall(page.read_text()) if "://" not in target]
        waiting += [(page.parent / target).resolve() for target in targets]
    assert not [name(page) for page in PAGES if page not in seen]


def test_architecture_pages_form_a_chain() -> None:
    feet: dict[str, tuple[str, str]] = {}
    for page in sorted((ROOT / "docs" / "architecture").glob("*.md")):
        foot = FOOT.match(page.read_text().rstrip().splitlines()[-1])
        assert foot is not None, f"{name(page)} has no previous and next at its foot"
        feet[page.name] = (foot[1] or "", foot[2] or "")
    for page, (before, after) in feet.items():
        assert not before or feet[before][1] == page, page
        assert not after or feet[after][0] == page, page
    assert [page for page, (before, _) in feet.items() if not before] == ["overview.md"]


def test_decisions_are_numbered_without_gap() -> None:
    numbers = sorted(int(page.name[:4]) for page in (ROOT / "docs" / "decisions").glob("*.md"))
    assert numbers == list(range(1, len(numbers) + 1))

"""All engines find the same, and none goes on for ever."""

from __future__ import annotations

import time
from itertools import product

import pytest

from millpond.operators.functions import matching, regex
from millpond.operators.functions.polling import polled
from millpond.operators.node import EpochContext
from millpond.storage.errors import InvalidRegex, QueryCanceled

PATTERNS = (
    "a", "a*", "a+b?", "(a|b)c", "(x)?(y)?", "^a", "c$", r"\d+", r"\w+", r"\s", "[a-c]+", "[^a]", "", "b|",
    r"\ya", r"\Sb", r"\D", r"\W+", "(a+)+b", "(a|ab)(c|bcd)*", "é+", ".", "(?:ab)+", "a{2,3}", "x*?y",
)  # fmt: skip
TEXTS = ("", "a", "aab", "abcabc", "xy y", "a1 b22\tc333", "été é", "line\nab\n", "aaaaaab", "abcd", "ß_ä 5x")
FLAGS = ("", "i", "n")


def found(pattern: matching.Pattern, text: str) -> list[object]:
    return [(match.span(), tuple(match.groups())) for match in pattern.matches(text)]


def engines(pattern: str, flags: str) -> dict[str, matching.Pattern]:
    python, linear, numbers = regex._translate(pattern, flags)
    made = {name: matching.Pattern(python, linear, numbers) for name in ("plain", "linear", "backtracking")}
    made["linear"]._short, made["linear"]._dangerous = -1, True
    made["backtracking"]._short, made["backtracking"]._dangerous = -1, False
    made["plain"]._short = 1000
    return made


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_engines_agree(pattern: str, flags: str) -> None:
    made = engines(pattern, flags)
    assert made["linear"]._in_linear_time is not None
    for text, name in product(TEXTS, ("linear", "backtracking")):
        assert found(made[name], text) == found(made["plain"], text), (name, text)
        first, expected = made[name].search(text), made["plain"].search(text)
        assert (first and first.span()) == (expected and expected.span())


def test_nested_quantifiers_take_no_time() -> None:
    pattern = regex.compile_pattern("(a+)+b", "")
    assert pattern.search("a" * 10_000) is None


def test_a_long_text_is_searched_in_linear_time() -> None:
    assert regex.compile_pattern("a*a*a*b", "").search("a" * 5_000) is None


def test_matches_of_a_long_text_come_by_and_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "PATIENCE_S", 0.001)
    pattern = regex.compile_pattern(r"(\w)\1?", "")
    assert sum(1 for _ in pattern.matches("abb " * 100_000)) == 200_000


def endless() -> tuple[matching.Pattern, str]:
    return regex.compile_pattern("(?=a)(a|aa)+$", ""), "a" * 64 + "b"


def test_a_backtracking_search_is_cancelled() -> None:
    polls: list[float] = []

    def cancelled() -> None:
        polls.append(time.monotonic())
        if len(polls) > 3:
            raise QueryCanceled("canceling statement due to user request")

    pattern, text = endless()
    with polled(EpochContext(0, 0, cancelled=cancelled)), pytest.raises(QueryCanceled):
        _ = pattern.search(text)
    assert len(polls) == 4


def test_a_backtracking_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "SEARCH_S_MAX", 0.1)
    pattern, text = endless()
    with pytest.raises(InvalidRegex, match="too complex"):
        _ = pattern.search(text)

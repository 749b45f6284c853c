"""`Pattern`: a regular expression at work, by the engine that is sure to come to an end.

* Python's `re` is the fastest on short texts. It backtracks, so it is used only where the number of ways
  to try is small: no quantified groups, no back references, text^(quantifiers + 1) below TRIES_MAX.
* RE2 (Thompson's construction, as in Russ Cox, "Regular Expression Matching Can Be Simple And Fast", 2007)
  takes time in proportion to the text. It knows no look-around and no back references, and each match costs
  some µs: it is used for quantified groups, and where backtracking has taken too long.
* The `regex` module backtracks too, but lets other threads run and ends after a time.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import cached_property
from typing import Any

import re2
import regex

from ...storage.errors import InvalidRegex
from .polling import poll_here

TRIES_MAX = 10_000_000
"""Ways to match that `re` may have to try: about a tenth of a second."""

PATIENCE_S = 0.05
"""How long a backtracking search goes on before somebody looks whether it is still wanted."""

SEARCH_S_MAX = 10.0
"""The longest search without RE2, after which it has failed."""

POLL_S = 0.02
"""Time between two looks."""

_QUANTIFIERS = re.compile(r"(?<!\\)(?:[*+{]|(?<!\()\?)")
_DANGEROUS = re.compile(r"\)[*+?{]|\\[1-9]")

Match = Any
"""A match of any of the three engines: what they have in common is that of `re.Match`."""


class Pattern:
    """A pattern in Python's syntax and, if RE2 knows it, in RE2's."""

    def __init__(self, python: str, linear: str | None, flags: int) -> None:
        """Raises re.error for a faulty pattern."""
        self._python, self._linear, self._flags = python, linear, flags
        self._plain = re.compile(python, flags)
        self.groups = self._plain.groups
        quantifiers = len(_QUANTIFIERS.findall(python))
        self._dangerous = _DANGEROUS.search(python) is not None
        self._short = 0 if self._dangerous else int(TRIES_MAX ** (1 / (quantifiers + 1)))
        """Length of the texts that `re` may be trusted with."""

    def search(self, text: str, start: int = 0) -> Match | None:
        """The first match from a position on."""
        if len(text) <= self._short:
            return self._plain.search(text, start)
        if self._dangerous and self._in_linear_time is not None:
            return self._in_linear_time.search(text, start)
        try:
            return self._backtracking.search(text, start, timeout=PATIENCE_S, concurrent=True)
        except TimeoutError:
            poll_here()
        if self._in_linear_time is not None:
            return self._in_linear_time.search(text, start)
        return _in_a_thread(
            lambda: self._backtracking.search(text, start, timeout=SEARCH_S_MAX, concurrent=True)
        )

    def matches(self, text: str, start: int = 0) -> Iterator[Match]:
        """All matches from left to right; after an empty one the search goes on one character later."""
        if start > len(text):
            return iter(())
        if len(text) <= self._short:
            return self._plain.finditer(text, start)
        if self._dangerous and self._in_linear_time is not None:
            return self._in_linear_time.finditer(text, start)
        return self._matches_by_and_by(text, start)

    def _matches_by_and_by(self, text: str, start: int) -> Iterator[Match]:
        """Matches as they are found within PATIENCE_S; where none is, one by `search`."""
        while start <= len(text):
            poll_here()
            begun = start
            try:
                for match in self._backtracking.finditer(text, start, timeout=PATIENCE_S, concurrent=True):
                    yield match
                    start = match.end() + (match.end() == match.start())
                return
            except TimeoutError:
                if start > begun:
                    continue
            found = self.search(text, start)
            if found is None:
                return
            yield found
            start = found.end() + (found.end() == found.start())

    @cached_property
    def _in_linear_time(self) -> Any:
        """The pattern in RE2; None when RE2 refuses it."""
        if self._linear is None:
            return None
        options = re2.Options()
        options.log_errors = False
        try:
            return re2.compile(self._linear, options)
        except re2.error:
            return None

    @cached_property
    def _backtracking(self) -> Any:
        flags = regex.VERSION0
        for ours, theirs in (
            (re.IGNORECASE, regex.IGNORECASE), (re.MULTILINE, regex.MULTILINE), (re.DOTALL, regex.DOTALL),
        ):  # fmt: skip
            flags |= theirs if self._flags & ours else 0
        return regex.compile(self._python, flags)


def _in_a_thread(search: Callable[[], Match | None]) -> Match | None:
    """The result of a search that may be given up: its thread then goes on until SEARCH_S_MAX."""
    future: Future[Match | None] = Future()

    def work() -> None:
        try:
            future.set_result(search())
        except Exception as error:  # for the thread that waits
            future.set_exception(error)

    threading.Thread(target=work, name="search", daemon=True).start()
    while True:
        try:
            return future.result(POLL_S)
        except TimeoutError:
            if future.done():
                raise InvalidRegex("regular expression failed: regular expression is too complex") from None
            poll_here()

"""`njit`: compiled loops with explicit signatures that are loaded when they are first called.

numba loads a compiled loop from its cache in some milliseconds. A server needs few of them to begin; the
others wait for their first call, or for `load_all`, which a thread of the server runs once it listens. A
loop that has been loaded is called as numba calls it, with nothing in between.
"""

# numba has no types.
# pyright: reportMissingParameterType=false

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
import numpy as np

_lock = threading.RLock()
_waiting: dict[str, list[_Loop]] = {}
"""By module its loops that are not loaded, in the order they were defined."""


_KINDS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float32, np.float64,
)  # fmt: skip


def _know_arrays() -> None:
    """Lets numba see arrays of every kind that loops are given.

    A call with an argument of a type that is new to it looks for the type in Python. Another thread may load
    the loop meanwhile, and then the call fails as if the loop had no such form.
    """
    probe: Any = numba.njit(lambda array: 0)  # pyright: ignore[reportUnknownLambdaType]
    probe._can_compile = False
    for kind in _KINDS:
        table = np.zeros((2, 2), kind)
        read_only = table[0].view()
        read_only.flags.writeable = False
        for array in (table[0], read_only, table, table[:, :1]):
            with suppress(TypeError):
                probe(array)


_know_arrays()


def njit(signatures: Any, **options: Any) -> Callable[[Any], Any]:
    """As `numba.njit` with one signature or a list of them, but loading, or compiling, when first called."""

    def wrap(function: Any) -> Any:
        loop = _Loop(numba.njit(**options)(function), signatures)
        with _lock:
            _waiting.setdefault(function.__module__, []).append(loop)
        # Looked up by numba for arguments of types that it has compiled nothing for.
        loop.dispatcher._compile_for_args = loop.called
        return loop.dispatcher

    return wrap


def load_all() -> int:
    """Loads the loops that nobody has called yet; returns how many. In any thread."""
    count = 0
    while (module := next(iter(_waiting), None)) is not None:
        count += _load(module, 1)
    return count


def _load(module: str, most: int | None = None) -> int:
    """Loads loops of a module, all or at most so many: in order, as later ones may call earlier ones."""
    with _lock:
        waiting = _waiting.get(module, [])
        now = waiting[:most]
        for loop in now:
            loop.load()
        del waiting[: len(now)]
        if not waiting:
            _waiting.pop(module, None)
        return len(now)


class _Loop:
    """A loop with its signatures, of which numba knows nothing yet."""

    __slots__ = ("dispatcher", "loaded", "module", "signatures")

    def __init__(self, dispatcher: Any, signatures: Any) -> None:
        self.dispatcher = dispatcher
        self.signatures = signatures if isinstance(signatures, list) else [signatures]
        self.module: str = dispatcher.py_func.__module__
        self.loaded = False

    def called(self, *arguments: Any) -> Any:
        """Instead of compiling for these arguments; numba calls what is returned."""
        del arguments
        while not self.loaded:
            _load(self.module, 1)
        return self.dispatcher

    def load(self) -> None:
        """From numba's cache; compiles what is not there."""
        if self.loaded:
            return
        for signature in self.signatures:
            self.dispatcher.compile(signature)
        self.dispatcher.disable_compile()
        del self.dispatcher._compile_for_args
        self.loaded = True

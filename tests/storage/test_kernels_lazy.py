"""Loops that are loaded when called do what numba's do, and compile for no other types."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import numba
import numpy as np
import pytest
from numba import types

from millpond.storage import kernels_lazy


def _loops():
    @kernels_lazy.njit(types.int64(types.int64), nogil=True)
    def once(value):
        return value + 1

    @kernels_lazy.njit([types.int64(types.int64), types.float64(types.float64)], nogil=True)
    def twice(value):
        return once(value) * 2

    return once, twice


def test_the_first_call_loads_a_loop_and_those_before_it() -> None:
    once, twice = _loops()
    assert not once.signatures and not twice.signatures
    assert twice(np.int64(4)) == 10
    assert once.signatures and len(twice.signatures) == 2
    assert twice(4.5) == 10.0 and once(7) == 8
    with pytest.raises(TypeError):
        once("text")
    assert len(once.signatures) == 1


def test_many_threads_may_call_first() -> None:
    _, twice = _loops()
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(int(twice(np.int64(1))))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [4] * 8


def test_all_that_is_left_is_loaded() -> None:
    once, twice = _loops()
    assert kernels_lazy.load_all() >= 2
    assert once.signatures and twice.signatures and kernels_lazy.load_all() == 0


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.uint64, np.float32])
def test_numba_knows_all_arrays_from_the_start(kind: type) -> None:
    """So no call looks for a type while another thread loads the loop: it asks to explain itself only."""
    table = np.zeros((3, 3), kind)
    frozen = table[0].view()
    frozen.flags.writeable = False
    for array in (table[:, :2], table, table[0], frozen):
        probe: Any = numba.njit(lambda array: 0)  # pyright: ignore[reportUnknownLambdaType]
        probe._can_compile = False
        asked: list[int] = []
        plain = probe.typeof_pyval
        probe.typeof_pyval = lambda value, plain=plain, asked=asked: (asked.append(1), plain(value))[1]
        with suppress(TypeError):
            probe(array)
        first = len(asked)
        with suppress(TypeError):
            probe(array)
        assert len(asked) == 2 * first > 0

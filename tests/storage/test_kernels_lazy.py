"""Loops that are loaded when called do what numba's do, and compile for no other types."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from numba import types
from numba.core.registry import cpu_target

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


def test_numba_knows_from_the_start_that_written_arrays_can_be_read() -> None:
    context: Any = cpu_target.typing_context
    known = context.tm.check_compatible
    for kind in (types.uint8, types.int16, types.int64, types.uint64, types.float32, types.float64):
        read_only = types.Array(kind, 1, "C", readonly=True)
        assert known(types.Array(kind, 1, "C"), read_only) is not None

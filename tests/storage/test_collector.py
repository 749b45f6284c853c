"""Automatic garbage collections stop while somebody wants that, and come back after the last."""

from __future__ import annotations

import gc

import pytest

from millpond.storage.collector import no_collections


def test_collections_come_back_after_the_last() -> None:
    assert gc.isenabled()
    first, second = no_collections(), no_collections()
    with first:
        assert not gc.isenabled()
        second.__enter__()
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_they_come_back_after_a_failure_and_not_where_there_were_none() -> None:
    with pytest.raises(ValueError), no_collections():
        raise ValueError
    assert gc.isenabled()
    gc.disable()
    try:
        with no_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

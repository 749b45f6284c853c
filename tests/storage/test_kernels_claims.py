"""`claim_in_order` against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from millpond.storage.kernels_claims import claim_in_order


def plain(ids: list[list[int]]) -> list[int]:
    claimed: set[tuple[int, int]] = set()
    kept: list[int] = []
    for row in range(len(ids[0])):
        wanted = {(kind, of[row]) for kind, of in enumerate(ids) if of[row] >= 0}
        if not wanted & claimed:
            kept.append(row)
            claimed |= wanted
    return kept


@pytest.mark.parametrize("seed", range(30))
def test_claims_as_one_after_the_other(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = int(random.integers(0, 40))
    ids = random.integers(-1, max(rows // 2, 1), (int(random.integers(1, 4)), rows))
    kept = np.zeros(rows, np.uint8)
    claim_in_order(ids, max(rows, 1), kept)
    assert np.flatnonzero(kept).tolist() == (plain(ids.tolist()) if rows else [])

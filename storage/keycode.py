"""Canonical, order-preserving key bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .types import Type

HASH_NAME = "millpond-64-1"
VNODES = 256


@dataclass(frozen=True, slots=True)
class Keys:
    """Key bytes of n rows: `width` bytes each, or (`width` 0) between consecutive `offsets`."""

    length: int
    width: int
    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return self.length

    def hash(self) -> npt.NDArray[np.uint64]:
        raise NotImplementedError

    def vnode(self) -> npt.NDArray[np.uint8]:
        raise NotImplementedError

    def to_bytes_list(self) -> list[bytes]:
        raise NotImplementedError

    def sort_order(self) -> npt.NDArray[np.int64]:
        raise NotImplementedError


def encode_keys(columns: Sequence[pa.Array], types: Sequence[Type], length: int | None = None) -> Keys:
    raise NotImplementedError


def encode_sort_keys(
    columns: Sequence[pa.Array],
    types: Sequence[Type],
    descending: Sequence[bool],
    nulls_first: Sequence[bool],
    length: int | None = None,
) -> Keys:
    raise NotImplementedError


def group_ids(keys: Keys) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    raise NotImplementedError

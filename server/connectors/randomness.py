"""Random numbers by position: the n-th value of a field is a function of seed, field and n alone.

So any piece of a generated stream can be made again without making what precedes it. The mixing function
is the finalizer of SplitMix64 (Steele, Lea & Flood, "Fast Splittable Pseudorandom Number Generators",
OOPSLA 2014, figure 16).
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

UInts = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


class Randomness:
    """Values by event number, independent between fields."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def bits(self, field: str, numbers: Ints) -> UInts:
        """64 random bits for each of `numbers`."""
        start = np.uint64((zlib.crc32(field.encode()) * 0x100000001 + self._seed) & 0xFFFFFFFFFFFFFFFF)
        with np.errstate(over="ignore"):
            z = numbers.astype(np.uint64) * _GOLDEN + start
            z = (z ^ (z >> np.uint64(30))) * _FIRST
            z = (z ^ (z >> np.uint64(27))) * _SECOND
        return z ^ (z >> np.uint64(31))

    def below(self, field: str, numbers: Ints, bound: int | Ints) -> Ints:
        """Whole numbers from 0 to `bound` − 1 (a modulus: the bias is below 2⁻³⁰ for bounds below 2³⁴)."""
        limit = np.asarray(bound, np.uint64)
        return (self.bits(field, numbers) % limit).astype(np.int64)

    def uniform(self, field: str, numbers: Ints) -> npt.NDArray[np.float64]:
        """Numbers in [0, 1) of 53 bits."""
        return (self.bits(field, numbers) >> np.uint64(11)).astype(np.float64) * 2.0**-53

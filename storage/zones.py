"""Time zones as arrays of transitions, so that whole columns move between UTC and local time.

Transitions come from the system's TZif files (RFC 8536), the years after the last one from the rule in
its footer by way of `zoneinfo`. The Gregorian calendar repeats every 400 years, hence so do the rules.
"""

from __future__ import annotations

import re
import struct
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .errors import InvalidParameterValue

Int64s = npt.NDArray[np.int64]

_CYCLE = 400 * 31_556_952
"""Seconds of 400 Gregorian years."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Zone:
    """`offsets[i]` (seconds east of UTC) holds from `starts[i - 1]` until `starts[i]` (UTC seconds).

    `local_starts` are the same instants on the new local clock. Read with them, a local time that a jump
    forward skips gets the offset before the jump, and one that occurs twice gets the later, as in
    PostgreSQL.
    """

    name: str
    starts: Int64s
    offsets: Int64s
    local_starts: Int64s
    lists: tuple[list[int], list[int], list[int]]
    """`starts`, `local_starts`, `offsets` as lists: a search in them is quicker for one instant."""
    last: int
    """Later instants are looked up whole 400-year cycles earlier."""

    def offsets_at(self, instants: Int64s) -> Int64s:
        """Offset in seconds at each UTC instant (seconds)."""
        if len(self.offsets) == 1:
            return np.full(len(instants), self.offsets[0], np.int64)
        return self.offsets[np.searchsorted(self.starts, self._folded(instants), "right")]

    def local_offsets(self, local: Int64s) -> Int64s:
        """Offset in seconds that holds at each local time (seconds)."""
        if len(self.offsets) == 1:
            return np.full(len(local), self.offsets[0], np.int64)
        return self.offsets[np.searchsorted(self.local_starts, self._folded(local), "right")]

    def _folded(self, seconds: Int64s) -> Int64s:
        beyond = seconds > self.last
        if not beyond.any():
            return seconds
        return np.where(beyond, seconds - -((self.last - seconds) // _CYCLE) * _CYCLE, seconds)

    def offset_at(self, instant: int) -> int:
        """`offsets_at` of one."""
        return int(self.offsets_at(np.array([instant]))[0]) if len(self.offsets) > 1 else int(self.offsets[0])

    def local_offset(self, local: int) -> int:
        """`local_offsets` of one."""
        return (
            int(self.local_offsets(np.array([local]))[0]) if len(self.offsets) > 1 else int(self.offsets[0])
        )


def fixed_zone(name: str, offset: int) -> Zone:
    """A zone of one offset, in seconds east of UTC."""
    return _zone(name, [], [offset], 1 << 62)


def _zone(name: str, starts: list[int], offsets: list[int], last: int) -> Zone:
    table, values = np.array(starts, np.int64), np.array(offsets, np.int64)
    local = table + values[1:]
    return Zone(name, table, values, local, (starts, local.tolist(), offsets), last)


_POSIX = re.compile(r"(?:<[^>]+>|[A-Za-z]{3,})?([+-]?)(\d{1,3})(?::(\d\d))?(?::(\d\d))?", re.ASCII)


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """The zone of an IANA name (in any case) or POSIX offset (`<+03>-3`, `UTC+5`, `-7`: west is positive).

    Raises 22023.
    """
    if name.upper() in ("UTC", "GMT", "ETC/UTC", "ZULU", "UCT"):
        return fixed_zone(name, 0)
    found = _find(name)
    if found is not None:
        return found
    match = _POSIX.fullmatch(name)
    if match is None or int(match[2]) > 167:
        raise InvalidParameterValue(f'time zone "{name}" not recognized')
    west = int(match[2]) * 3600 + int(match[3] or 0) * 60 + int(match[4] or 0)
    return fixed_zone(name, west if match[1] == "-" else -west)


def _find(name: str) -> Zone | None:
    try:
        return _load(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        canonical = _names().get(name.lower())
        return _load(canonical) if canonical and canonical != name else None


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    return {name.lower(): name for name in zoneinfo.available_timezones()}


def _load(name: str) -> Zone:
    info = zoneinfo.ZoneInfo(name)
    starts, offsets, footer = _read_tzif(_tzif_bytes(name))
    if "," in footer:
        later, later_offsets = _future(info, starts[-1] if starts else 0)
        starts, offsets = starts + later, offsets + later_offsets
    last = starts[-1] if "," in footer else 1 << 62
    return _zone(name, starts, offsets, last)


def _tzif_bytes(name: str) -> bytes:
    for folder in zoneinfo.TZPATH:
        path = Path(folder, name)
        if path.is_file():
            return path.read_bytes()
    package, _, file = ("tzdata.zoneinfo." + name.replace("/", ".")).rpartition(".")
    return resources.files(package).joinpath(file).read_bytes()


def _read_tzif(data: bytes) -> tuple[list[int], list[int], str]:
    """(transition instants, offset before the first and after each, footer) of a version 2+ file."""
    head = struct.Struct(">4sc15x6I")
    _, _, utc, standard, leap, times, types, chars = head.unpack_from(data)
    start = head.size + times * 5 + types * 6 + chars + leap * 8 + standard + utc
    _, _, utc, standard, leap, times, types, chars = head.unpack_from(data, start)
    start += head.size
    instants = struct.unpack_from(f">{times}q", data, start)
    kinds = data[start + times * 8 : start + times * 9]
    start += times * 9
    table = [struct.unpack_from(">i", data, start + 6 * kind)[0] for kind in range(types)]
    footer = data[start + types * 6 + chars + leap * 12 + standard + utc :].decode().strip("\n")
    return list(instants), [table[0], *(table[kind] for kind in kinds)], footer


def _first_change(offset: Callable[[int], int], current: int, low: int, high: int) -> int:
    """The instant in low … high from which the offset is no longer `current`.

    Nearly all rules change at a quarter of an hour, so those are tried before single seconds.
    """
    for unit in (900, 1):
        left, right = low // unit, -(-high // unit)
        while right - left > 1:
            middle = (left + right) // 2
            left, right = (middle, right) if offset(middle * unit) == current else (left, middle)
        low, high = left * unit, right * unit
        if offset(high - 1) == current:
            break
    return high


def _future(info: zoneinfo.ZoneInfo, after: int) -> tuple[list[int], list[int]]:
    """Transitions of the footer's rule from the instant `after` on, for 400 years and one more."""

    def offset(instant: int) -> int:
        delta = (_EPOCH + timedelta(seconds=instant)).astimezone(info).utcoffset()
        assert delta is not None
        return int(delta.total_seconds())

    starts: list[int] = []
    offsets: list[int] = []
    low, step = after + 1, 56 * 86400
    current = offset(low)
    while low < after + _CYCLE + 366 * 86400:
        high = low + step
        if offset(high) != current:
            right = _first_change(offset, current, low, high)
            current = offset(right)
            starts.append(right)
            offsets.append(current)
        low = high
    return starts, offsets


_ABBREVIATIONS = {
    -660: "nut",
    -600: "ckt hst taht",
    -570: "mart",
    -540: "akst gamt",
    -480: "akdt pst",
    -420: "mst pdt",
    -360: "cst galt mdt",
    -300: "act cdt cot easst east est pet",
    -240: "amt ast bot edt gyt vet",
    -210: "nft nst",
    -180: "adt arst art bra brt clst clt fkst fkt gft pmst pyst pyt uyt wgt",
    -150: "ndt",
    -120: "brst fnt pmdt uyst wgst",
    -60: "azot egt fnst",
    0: "azost egst gmt uct ut utc wet z zulu",
    60: "bst cet met mez wat wetdst",
    120: "bdst cest cetdst eet ist mest mesz metdst sast",
    180: "eat eest eetdst fet idt msk volt",
    210: "irt",
    240: "amst azst azt gest get msd mut ret sct",
    270: "aft",
    300: "mawt must mvt pkt tft tjt tmt uzt yekt",
    330: "lkt",
    345: "npt",
    360: "almt bdt btt iot kgst kgt omsst omst pkst uzst xjt yekst",
    390: "mmt",
    420: "almst cxt davt ict krast krat novst novt wast",
    480: "awst bnt bort cct hkt irkst irkt myt pht sgt ulat wadt",
    525: "acwst",
    540: "awsst jayt jst kst pwt ulast wdt yakst yakt",
    570: "acst cast",
    600: "aest chut ddut kdt ligt mpt pgt trut vlast vlat yapt",
    630: "acdt acsst cadt lhst sadt",
    660: "aedt aesst kost lhdt magst magt pont vut",
    720: "anast anat fjt gilt mht nzst nzt petst pett tvt wakt wft",
    765: "chast",
    780: "fjst nzdt tkt tot",
    825: "chadt",
    840: "lint",
}
"""Abbreviations PostgreSQL accepts in input (its `Default` set), by minutes east of UTC."""

ABBREVIATIONS = {name: minutes * 60 for minutes, names in _ABBREVIATIONS.items() for name in names.split()}

"""How datagen fills a column: one `Field` for each kind and type, from the options of the column.

Options, all behind `fields.<column>.`: `kind` random (the default) or sequence; of random numbers `min` and
`max` (both reachable, 0 and 32767 when not given); of texts and bytes `length`; of times `max_past` (an
interval), `max_past_mode` absolute (before the first row) or relative (before the row itself) and `basetime`;
of arrays `length`, their elements having options behind `<column>._.`; `seed` makes another column of the
same kind; `start` and `end` bound a sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...storage.errors import FeatureNotSupported, InvalidParameterValue, SqlError
from ...storage.schema import Column
from ...storage.textform import parse_text
from ...storage.types import INTERVAL, TEXT, TIMESTAMPTZ, Type, numeric_modifier
from .base import integer_option
from .randomness import Ints, Randomness

FIELD_OPTIONS = (
    "kind", "min", "max", "start", "end", "length", "seed", "max_past", "max_past_mode", "basetime",
    "_.min", "_.max", "_.length", "_.max_past", "_.max_past_mode", "_.basetime",
)  # fmt: skip
DEFAULT_MAX = 32767
LENGTH_MAX = 100_000
DAY_US = 86_400_000_000
FLOAT_DIGITS = 2
"""Decimals of a random numeric without declared scale."""

_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", np.uint8)
_INTEGERS = {"int2": 15, "int4": 31, "int8": 63}
_TEXTS = ("text", "varchar", "bpchar", "name")
_TIMES = ("timestamp", "timestamptz", "date")


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The options of one column. `prefix` leads to those of its elements."""

    column: str
    options: Mapping[str, str]
    prefix: str = ""

    def key(self, name: str) -> str:
        return f"fields.{self.column}.{self.prefix}{name}"

    def text(self, name: str, default: str = "") -> str:
        return self.options.get(self.key(name), default)

    def integer(self, name: str, default: int, low: int) -> int:
        return integer_option(self.options, self.key(name), default, low)

    def value(self, name: str, type_: Type) -> pa.Array | None:
        """The option as one value of `type_`, None when it is not given. Raises InvalidParameterValue."""
        text = self.options.get(self.key(name))
        if text is None:
            return None
        try:
            return parse_text(type_, pa.array([text]))
        except SqlError as error:
            raise InvalidParameterValue(f'option "{self.key(name)}": {error.message}') from None

    def elements(self) -> FieldOptions:
        return replace(self, prefix=self.prefix + "_.")


class Field(Protocol):
    """A column being made. `end`: how many rows it is good for, None without end; `width`: bytes a row."""

    end: int | None
    width: int

    def values(self, numbers: Ints, times: Ints, base_us: int) -> pa.Array:
        """The values of the rows `numbers`, whose times are `times` (µs); `base_us` is that of row 0."""
        ...


@dataclass(slots=True)
class _Field:
    make: Callable[[Ints, Ints, int], pa.Array]
    end: int | None = None
    width: int = 8

    def values(self, numbers: Ints, times: Ints, base_us: int) -> pa.Array:
        return self.make(numbers, times, base_us)


def make_field(column: Column, options: FieldOptions) -> Field:
    """The field of a column. Raises InvalidParameterValue, FeatureNotSupported."""
    kind = options.text("kind", "random").lower()
    if kind == "sequence":
        return _sequence(column.type, options)
    if kind != "random":
        raise InvalidParameterValue(
            f'option "{options.key("kind")}" must be random or sequence, not "{kind}"'
        )
    return _random(column.type, options, Randomness(options.integer("seed", 0, 0)))


def _sequence(type_: Type, options: FieldOptions) -> Field:
    if type_.name not in (*_INTEGERS, *_TEXTS, "float4", "float8", "numeric"):
        raise FeatureNotSupported(f'a column of type {type_} cannot be a sequence: "{options.column}"')
    start = options.integer("start", 0, -(2**63))
    last = options.integer("end", 2**63 - 1, start)
    end = last - start + 1 if options.text("end") else None
    return _Field(lambda n, _times, _base: _whole_numbers(type_, n + start), end)


def _whole_numbers(type_: Type, numbers: Ints) -> pa.Array:
    """Whole numbers as values of a numeric or text type."""
    values = pa.array(numbers)
    if type_.name in _INTEGERS or type_.name in ("float4", "float8"):
        return values.cast(type_.arrow)
    return parse_text(type_, values.cast(pa.string()))


def _random(type_: Type, options: FieldOptions, random: Randomness) -> Field:
    name = options.column + options.prefix
    if type_.element is not None:
        return _array(type_.element, options, random)
    if type_.name in _INTEGERS:
        return _integers(type_, options, random)
    if type_.name in ("float4", "float8"):
        return _floats(type_, options, random)
    if type_.name == "numeric":
        return _numerics(type_, options, random)
    if type_.name in _TEXTS or type_.name == "bytea":
        return _texts(type_, options, random)
    if type_.name in _TIMES:
        return _timestamps(type_, options, random)
    simple = _SIMPLE.get(type_.name)
    if simple is None:
        raise FeatureNotSupported(f'datagen makes no values of type {type_}: column "{options.column}"')
    return _Field(lambda n, _times, _base: simple(random, name, n), width=16)


def _range(options: FieldOptions, type_: Type, low: float, high: float) -> tuple[float, float]:
    lows, highs = options.value("min", type_), options.value("max", type_)
    low = lows[0].as_py() if lows is not None else low
    high = highs[0].as_py() if highs is not None else max(high, low)
    if low > high:
        raise InvalidParameterValue(f'option "{options.key("min")}" is greater than "{options.key("max")}"')
    return low, high


def _spread(random: Randomness, name: str, numbers: Ints, low: int, high: int) -> Ints:
    """Whole numbers from `low` to `high`, both included, over all of int64."""
    bits = random.bits(name, numbers)
    if high - low < 2**64 - 1:
        bits = bits % np.uint64(high - low + 1)
    with np.errstate(over="ignore"):
        return (bits + np.uint64(low & (2**64 - 1))).view(np.int64)


def _integers(type_: Type, options: FieldOptions, random: Randomness) -> Field:
    low, high = (int(bound) for bound in _range(options, type_, 0, DEFAULT_MAX))
    name = options.column + options.prefix
    return _Field(lambda n, _times, _base: pa.array(_spread(random, name, n, low, high)).cast(type_.arrow))


def _floats(type_: Type, options: FieldOptions, random: Randomness) -> Field:
    low, high = _range(options, type_, 0.0, float(DEFAULT_MAX))
    name = options.column + options.prefix
    return _Field(
        lambda n, _times, _base: pa.array(low + random.uniform(name, n) * (high - low)).cast(type_.arrow)
    )


def _numerics(type_: Type, options: FieldOptions, random: Randomness) -> Field:
    """Exact numbers with the declared digits behind the point, drawn as whole numbers of the last one."""
    scale = FLOAT_DIGITS if type_.scale is None else type_.scale
    highest = DEFAULT_MAX
    if type_.typmod >= 0:
        precision, scale = numeric_modifier(type_.typmod)
        highest = min(highest, 10 ** max(precision - scale, 0) - 1)
    low, high = (float(bound) for bound in _range(options, type_, 0, highest))
    unit = 10.0**scale
    if max(abs(low), abs(high)) * unit >= 2**63:
        raise InvalidParameterValue(f'the range of datagen column "{options.column}" has too many digits')
    first, last = round(low * unit), round(high * unit)
    name = options.column + options.prefix

    def make(n: Ints, _times: Ints, _base: int) -> pa.Array:
        units = pa.array(_spread(random, name, n, first, last)).cast(pa.decimal128(38, 0))
        texts = _scaled(units, scale).cast(pa.string())
        return parse_text(type_, texts)

    return _Field(make, width=16)


def _scaled(units: pa.Array, scale: int) -> pa.Array:
    """Whole units as decimals with `scale` digits behind the point: the same 16 bytes, read otherwise."""
    if scale <= 0:
        return units
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(units), [None, units.buffers()[1]])


def _texts(type_: Type, options: FieldOptions, random: Randomness) -> Field:
    length = options.integer("length", 10, 0)
    if type_.name in ("varchar", "bpchar") and type_.typmod >= 0:
        length = min(length, type_.typmod - 4)
    if length > LENGTH_MAX:
        raise InvalidParameterValue(f'option "{options.key("length")}" must not be above {LENGTH_MAX}')
    name, alphabet = options.column + options.prefix, None if type_.name == "bytea" else _ALPHABET
    return _Field(
        lambda n, _times, _base: _letters(type_, alphabet, length, random, name, n), width=length + 4
    )


def _letters(
    type_: Type, alphabet: npt.NDArray[np.uint8] | None, length: int, random: Randomness, name: str, n: Ints
) -> pa.Array:
    """Texts of `length` characters, eight drawn from each random number."""
    letters = np.empty((len(n), length), np.uint8)
    for first in range(0, length, 8):
        drawn = random.bits(f"{name} {first}", n).view(np.uint8).reshape(len(n), 8)
        part = drawn[:, : min(8, length - first)]
        letters[:, first : first + 8] = part if alphabet is None else alphabet[part % len(alphabet)]
    offsets = np.arange(len(n) + 1, dtype=np.int32) * length
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    texts = pa.Array.from_buffers(pa.binary() if alphabet is None else pa.string(), len(n), buffers)
    return texts if type_.name in ("bytea", "text") else parse_text(type_, texts)


def _timestamps(type_: Type, options: FieldOptions, random: Randomness) -> Field:
    mode = options.text("max_past_mode", "absolute").lower()
    if mode not in ("absolute", "relative"):
        raise InvalidParameterValue(
            f'option "{options.key("max_past_mode")}" must be absolute or relative, not "{mode}"'
        )
    past = options.value("max_past", INTERVAL)
    span = DAY_US if past is None else _length_us(past[0].as_py())
    given = options.value("basetime", TIMESTAMPTZ)
    fixed = None if given is None else int(given.view(pa.int64())[0].as_py())
    name = options.column + options.prefix

    def make(n: Ints, times: Ints, base_us: int) -> pa.Array:
        since = times if mode == "relative" else np.full(len(n), base_us)
        if fixed is not None:
            since = since - base_us + fixed
        drawn = since - _spread(random, name, n, 0, span)
        if type_.name == "date":
            return pa.array((drawn // DAY_US).astype(np.int32)).view(pa.date32())
        return pa.array(drawn).view(type_.arrow)

    return _Field(make)


def _length_us(interval: bytes) -> int:
    """An interval's length, a month having 30 days."""
    microseconds = int.from_bytes(interval[:8], "little", signed=True)
    days = int.from_bytes(interval[8:12], "little", signed=True)
    months = int.from_bytes(interval[12:16], "little", signed=True)
    return abs(microseconds + (days + 30 * months) * DAY_US)


def _array(element: Type, options: FieldOptions, random: Randomness) -> Field:
    length = options.integer("length", 3, 0)
    if length > LENGTH_MAX:
        raise InvalidParameterValue(f'option "{options.key("length")}" must not be above {LENGTH_MAX}')
    inner = _random(element, options.elements(), random)

    def make(n: Ints, times: Ints, base_us: int) -> pa.Array:
        numbers = np.repeat(n, length) * max(length, 1) + np.tile(np.arange(length), len(n))
        values = inner.values(numbers, np.repeat(times, length), base_us)
        offsets = pa.array(np.arange(len(n) + 1, dtype=np.int32) * length)
        return pa.ListArray.from_arrays(offsets, values).cast(pa.list_(element.arrow))

    return _Field(make, width=inner.width * length + 4)


def _booleans(random: Randomness, name: str, n: Ints) -> pa.Array:
    return pa.array(random.below(name, n, 2) == 1)


def _uuids(random: Randomness, name: str, n: Ints) -> pa.Array:
    """Version 4: random but for the six bits that say so (RFC 9562, section 5.4)."""
    raw = np.stack([random.bits(name, n), random.bits(name + " low", n)], axis=1).view(np.uint8)
    raw[:, 6] = raw[:, 6] & 0x0F | 0x40
    raw[:, 8] = raw[:, 8] & 0x3F | 0x80
    return pa.Array.from_buffers(pa.binary(16), len(n), [None, pa.py_buffer(raw)])


def _times_of_day(random: Randomness, name: str, n: Ints) -> pa.Array:
    return pa.array(random.below(name, n, DAY_US)).view(pa.time64("us"))


def _intervals(random: Randomness, name: str, n: Ints) -> pa.Array:
    """From nothing to a day, in µs."""
    raw = np.zeros((len(n), 2), np.int64)
    raw[:, 0] = random.below(name, n, DAY_US)
    return pa.Array.from_buffers(pa.binary(16), len(n), [None, pa.py_buffer(raw)])


def _objects(random: Randomness, name: str, n: Ints) -> pa.Array:
    """`{"value": 123}`."""
    numbers = pa.array(random.below(name, n, DEFAULT_MAX + 1)).cast(pa.string()).to_pylist()
    return pa.array(['{"value": ' + number + "}" for number in numbers], TEXT.arrow)


_SIMPLE: dict[str, Callable[[Randomness, str, Ints], pa.Array]] = {
    "bool": _booleans,
    "uuid": _uuids,
    "time": _times_of_day,
    "interval": _intervals,
    "json": _objects,
    "jsonb": _objects,
}

"""The compiled search for members of JSON objects against Python's decoder."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from millpond.server.connectors.json_columns import Pieces, find_members
from millpond.storage.kernels_json import ESCAPED, LITERAL, MISSING, NESTED, NULL, NUMBER, STRING

NAMES = ("a", "bb", "Name", "x.y")


def kind_of(value: Any, raw: bytes) -> int:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return LITERAL
    if isinstance(value, str):
        return ESCAPED if b"\\" in raw else STRING
    return NESTED if isinstance(value, (dict, list)) else NUMBER


def random_value(chance: random.Random, depth: int = 0) -> Any:
    pick = chance.randrange(9 if depth < 3 else 7)
    simple: list[Any] = [None, True, -0.5e-3, 10**20, "", "é☃", 'q"\\\n']
    if pick < 7:
        return simple[pick]
    if pick == 7:
        return [random_value(chance, depth + 1) for _ in range(chance.randrange(3))]
    return {chance.choice("abc"): random_value(chance, depth + 1) for _ in range(chance.randrange(3))}


def check(record: bytes) -> None:
    found = find_members(Pieces.of([b"{}", record, b"[]"]), NAMES)
    try:
        value = json.loads(record, parse_constant=lambda name: 1 / 0)
    except (ValueError, ZeroDivisionError):
        value = None
    if not isinstance(value, dict):
        assert found.strange[1]
        return
    if found.strange[1]:
        assert b"\\" in record
        return
    for i, name in enumerate(NAMES):
        raw = (b"{}\n" + record)[int(found.starts[1, i]) : int(found.ends[1, i])]
        if name not in value:
            assert found.kinds[1, i] == MISSING
            continue
        assert found.kinds[1, i] == kind_of(value[name], raw), (record, name)
        text = raw.decode() if found.kinds[1, i] not in (STRING, ESCAPED) else f'"{raw.decode()}"'
        assert json.loads(text) == value[name]


@pytest.mark.parametrize("seed", range(20))
def test_members_as_python_finds_them(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        names = chance.sample(["a", "bb", "Name", "x.y", "other", "nested"], chance.randrange(7))
        value = {name: random_value(chance) for name in names}
        indent = chance.choice([None, 1])
        text = json.dumps(value, ensure_ascii=chance.random() < 0.5, indent=indent).encode()
        check(text)
        at = chance.randrange(len(text) + 1)
        broken = text[:at] + chance.choice([b"", b"x", b",", b"}", b'"', b"0"]) + text[at + 1 :]
        # Whether it is UTF-8 is seen elsewhere.
        check(broken.decode(errors="replace").encode())


@pytest.mark.parametrize(
    "record",
    [b"", b" ", b"nul", b"{", b"[1]", b'{"a"}', b'{"a":}', b'{"a":01}', b'{"a":1.}', b'{"a":+1}', b'{"a":1e}',
     b'{"a":tru}', b'{"a":1}}', b'{"a":[1,]}', b'{"a":{"b" 1}}', b'{"a":"\\x"}', b'{"a":"\t"}', b'{"a":NaN}',
     b'{"a":1,}'],
)  # fmt: skip
def test_what_is_no_object_is_strange(record: bytes) -> None:
    assert find_members(Pieces.of([record]), NAMES).strange.tolist() == [True]


def test_case_is_ignored_only_where_no_name_is_exact() -> None:
    found = find_members(Pieces.of([b'{"NAME":1,"Name":2,"name":3}', b'{"NAME":1,"name":3}']), ["Name"])
    bounds = zip(found.starts[:, 0].tolist(), found.ends[:, 0].tolist(), strict=True)
    data = b'{"NAME":1,"Name":2,"name":3}\n{"NAME":1,"name":3}'
    assert [data[a:b] for a, b in bounds] == [b"2", b"1"]
    assert found.starts.dtype == np.int64

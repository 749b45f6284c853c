"""JSON against PostgreSQL's json and jsonb."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from millpond.storage import jsons
from millpond.storage.errors import SqlError
from millpond.storage.textform import parse_text
from millpond.storage.types import JSON, JSONB, Type

SEED = 20260728
TEXTS = [
    "1", "-1", "0", "-0", "1.0", "1.10", "1e5", "1E-5", "1.5e3", "-0.0", "12345678901234567890.123",
    "true", "false", "null", '"x"', '""', "[]", "{}", "[1, 2]", '{"b":1,"a":2}', '{"aa":1,"b":2,"a":3}',
    '{"a":1,"a":2}', "[[],{}]", ' { "a" : [ 1 , { "b" : null } ] } ', '"\\u00e9"', '"é"',
    '"\\n\\t\\"\\\\\\/\\b\\f\\r"', '"\\u0001"', '"\\u001f"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\ude00"',
    '"\\u0000"', '"\x7f"', '"\x01"', '"a\nb"', "", " ", "x", "tru", "nul", "NaN", "Infinity", "-", "01",
    "1.", ".5", "+1", "1e", "[1,]", "[,1]", "[1 2]", "{", "[", '{"a"}', '{"a":}', "{a:1}", '{"a":1,}',
    '{"a":1 "b":2}', "'x'", '"x', '"\\x"', '"\\u12"', "1 2", "[1]]", "{}{}", '{"é":1,"zz":2,"z":3}',
    "1e400", "[1.0,1.00,100e-2]", "\t[1]\n", '{"":1}', "[true,false,null]", "12345678901234567890",
    "\ufeff1", "\xa01",
]  # fmt: skip


@pytest.mark.parametrize("type_", [JSON, JSONB], ids=str)
def test_reading(oracle: Any, type_: Type) -> None:
    expected = [(f.code, f.message) if hasattr(f, "code") else f for f in oracle.read(type_.name, TEXTS)]
    found: list[Any] = []
    for text in TEXTS:
        try:
            found.append(parse_text(type_, pa.array([text]))[0].as_py())
        except SqlError as error:
            found.append((error.code, error.message))
    wrong = [row for row in zip(TEXTS, expected, found, strict=True) if row[1] != row[2]]
    assert not wrong, "\n".join(map(str, wrong))


def _random_json(generator: random.Random, depth: int = 0) -> str:
    kind = generator.randrange(5 if depth > 3 else 7)
    if kind == 0:
        return generator.choice(["null", "true", "false"])
    if kind in (1, 2):
        return generator.choice(
            [f"{generator.randrange(-50, 50)}", f"{generator.uniform(-9, 9):.3f}", "1e3", "2.50"]
        )
    if kind in (3, 4):
        return generator.choice(['"a"', '"b"', '"abc"', '"é"', '""', '"B"'])
    items = [_random_json(generator, depth + 1) for _ in range(generator.randrange(4))]
    if kind == 5:
        return "[" + ",".join(items) + "]"
    return "{" + ",".join(f'"{generator.choice(["a", "b", "bb", "ab", "é"])}":{item}' for item in items) + "}"


def test_random_values(oracle: Any) -> None:
    generator = random.Random(SEED)
    texts = [_random_json(generator) for _ in range(500)]
    assert [jsons.normalise(text) for text in texts] == oracle.read("jsonb", texts)
    pretty = oracle.evaluate([f"jsonb_pretty('{text}')" for text in texts])
    assert [jsons.pretty(jsons.load(text)) for text in texts] == pretty
    kinds = oracle.evaluate([f"jsonb_typeof('{text}')" for text in texts])
    assert [jsons.type_of(text) for text in texts] == kinds


def test_order(oracle: Any) -> None:
    generator = random.Random(SEED)
    texts = list(
        dict.fromkeys([*(_random_json(generator) for _ in range(120)), "[]", "{}", "null", '"x"', "1", "1.0"])
    )
    pairs = [(a, b) for a in texts[:40] for b in texts]
    expected = oracle.evaluate(
        [f"('{a}'::jsonb < '{b}')::int - ('{a}'::jsonb > '{b}')::int" for a, b in pairs]
    )
    keys = {text: jsons.compare_key(text) for text in texts}
    found = [str((keys[a] < keys[b]) - (keys[a] > keys[b])) for a, b in pairs]
    wrong = [row for row in zip(pairs, expected, found, strict=True) if row[1] != row[2]]
    assert not wrong, wrong[:10]


def test_containment_and_keys(oracle: Any) -> None:
    generator = random.Random(SEED)
    texts = [
        *(_random_json(generator) for _ in range(60)),
        '["a",1,[1,2]]',
        "[1]",
        "1",
        '{"a":{"b":1}}',
        '"a"',
        "[[1]]",
    ]
    parts = [
        "1",
        "[]",
        "{}",
        '["a"]',
        "[1]",
        "[[1]]",
        '"a"',
        '{"a":{}}',
        '{"a":1}',
        "null",
        "[null]",
        "[1,1]",
        '{"b":[]}',
    ]
    pairs = [(a, b) for a in texts for b in parts]
    expected = oracle.evaluate([f"'{a}'::jsonb @> '{b}'" for a, b in pairs])
    found = [str(jsons.contains(jsons.load(a), jsons.load(b))).lower() for a, b in pairs]
    wrong = [row for row in zip(pairs, expected, found, strict=True) if row[1] != row[2]]
    assert not wrong, wrong[:10]
    expected = oracle.evaluate([f"'{text}'::jsonb ? 'a'" for text in texts])
    assert [str(jsons.has_key(jsons.load(text), "a")).lower() for text in texts] == expected


def test_concatenation(oracle: Any) -> None:
    texts = ["1", "[]", "{}", '{"a":1}', '{"a":2,"b":3}', "[1,2]", '"x"', "null", '[{"a":1}]']
    pairs = [(a, b) for a in texts for b in texts]
    expected = [
        (row.code, row.message) if hasattr(row, "code") else row
        for row in oracle.evaluate([f"'{a}'::jsonb || '{b}'" for a, b in pairs])
    ]
    found: list[Any] = []
    for a, b in pairs:
        try:
            found.append(jsons.dump(jsons.concatenate(jsons.load(a), jsons.load(b))))
        except SqlError as error:
            found.append((error.code, error.message))
    wrong = [row for row in zip(pairs, expected, found, strict=True) if row[1] != row[2]]
    assert not wrong, wrong[:10]


DOCUMENT = '{ "a" : {"b": [10, 20.50,  {"c":"x\\n"}], "n": null}, "k":"v", "a2": [[]] }'


def test_access(oracle: Any) -> None:
    paths = [
        ["a"], ["a", "b"], ["a", "b", "0"], ["a", "b", "-1"], ["a", "b", "5"], ["k"], ["k", "x"], ["zz"],
        ["a2", "0"], ["a", "n"], [], ["a2", "x"], ["a2", " 0"], ["a2", "+0"],
    ]  # fmt: skip
    quoted = ["ARRAY[" + ",".join(f"'{step}'" for step in path) + "]::text[]" for path in paths]
    document = DOCUMENT.replace("'", "''")
    assert [jsons.get_path(DOCUMENT, path) for path in paths] == oracle.evaluate(
        [f"'{document}'::jsonb #> {path}" for path in quoted]
    )
    assert [jsons.get_path_text(DOCUMENT, path) for path in paths] == oracle.evaluate(
        [f"'{document}'::jsonb #>> {path}" for path in quoted]
    )
    assert [jsons.raw_path(DOCUMENT, path) for path in paths if path] == oracle.evaluate(
        [f"'{document}'::json #> {path}" for path in quoted if path != "ARRAY[]::text[]"]
    )
    array = '[1, "a",  {"x": 1.50}, null]'
    for index in range(-5, 5):
        expected = oracle.evaluate(
            [f"'{array}'::jsonb -> {index}", f"'{array}'::jsonb ->> {index}", f"'{array}'::json -> {index}",
             f"'{array}'::json ->> {index}"]
        )  # fmt: skip
        raw = jsons.raw_path(array, [index])
        found = [
            jsons.get_element(array, index),
            jsons.get_element_text(array, index),
            raw,
            jsons.raw_text(raw),
        ]
        assert found == expected
    assert jsons.get_field('{"a": "x"}', "a") == '"x"'
    assert jsons.get_field_text('{"a": "x"}', "a") == "x"
    assert jsons.get_field("[1]", "0") is None


def test_building(oracle: Any) -> None:
    built = [
        jsons.build_array(["1", '"x"', "null"]),
        jsons.build_jsonb_object([("bb", "1"), ("a", '"x"'), ("bb", "2")]),
        jsons.build_json_object([("bb", "1"), ("a", '"x"'), ("bb", "2")]),
        jsons.quote('a"b\\c\né\x01'),
    ]
    assert built == oracle.evaluate(
        ["jsonb_build_array(1, 'x', null)", "jsonb_build_object('bb', 1, 'a', 'x', 'bb', 2)",
         "json_build_object('bb', 1, 'a', 'x', 'bb', 2)", "to_jsonb(E'a\"b\\\\c\\né\\x01'::text)"]
    )  # fmt: skip

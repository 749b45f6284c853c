"""to_char, to_date, to_timestamp, to_number and format against PostgreSQL."""

from __future__ import annotations

import itertools

import pytest

STAMPS = ["2024-02-09 13:04:05.067089", "1999-12-31 23:59:59.999999", "0044-03-15 00:00:00 BC",
          "2021-01-03 12:00:00",
          "infinity", None]  # fmt: skip
TEMPLATES = [
    "YYYY-MM-DD HH24:MI:SS", "YYYY-MM-DD\"T\"HH24:MI:SS.MS", "Mon DD, YYYY", "FMMonth FMDDth, YYYY",
    "MONTH|Month|month|MON",
    "DAY|Day|day|Dy|D|ID", "DDD IDDD WW W IW IYYY IY I", "CC Q J RM rm", "HH12:MI AM", "hh:mi p.m.",
    "US MS FF1 FF3 FF6",
    "SSSS SSSSS", "Y,YYY YYY YY Y", "BC AD b.c.", "FMHH24 FMMI FMSS", "DDTH ddth", "yyyy/mm/dd", "Dth",
    "abc xyz", "",
]  # fmt: skip
NUMBERS = ["0", "1", "-1", "12", "-12.5", "0.5", "-0.05", "1234.567", "99999.9", "123456789", None]
MASKS = ["9", "999", "999.99", "000.00", "0999.9", "9,999.99", "FM999.99", "FM0999.00", "S999.9", "999.9S",
         "MI999.9", "999.9MI",
         "SG999", "PL999", "999.9PR", "9.99EEEE", "RN", "FMrn", "999th", "999TH", "99V99", "\"n=\"999",
         "$999.99", "FM9,999,999",
         "99G999D9", "9999999999"]  # fmt: skip


@pytest.mark.parametrize("type_", ["timestamp", "timestamptz"])
def test_moments(oracle, type_) -> None:
    oracle.use_zone("America/New_York")
    oracle.check("to_char", (type_, "text"), list(itertools.product(STAMPS, TEMPLATES)))
    if type_ == "timestamptz":
        oracle.check("to_char", (type_, "text"), list(itertools.product(STAMPS, ["OF", "TZ tz", "TZH:TZM"])))


def test_moments_in_bulk(oracle) -> None:
    oracle.use_zone("America/New_York")
    stamps = [f"{year}-0{year % 9 + 1}-1{year % 7} 0{year % 9}:05:06.78" for year in range(1000, 2500, 40)]
    for template in ("YYYY-MM-DD HH24:MI:SS", "DDD%d DD/MM", "YYYY"):
        for type_ in ("timestamp", "timestamptz"):
            oracle.check_constants("to_char", stamps, ["text"], [template], type_)


def test_intervals(oracle) -> None:
    spans = ["1 day 02:03:04.5", "-25:00:00", "14 mons", "100:00", None]
    oracle.check(
        "to_char",
        ("interval", "text"),
        list(itertools.product(spans, ["HH24:MI:SS.MS", "HH12 DD MM YYYY", "FMHH24"])),
    )


@pytest.mark.parametrize("mask", MASKS)
def test_numbers(oracle, mask) -> None:
    oracle.check(
        "to_char", ("numeric", "text"), [(v, mask) for v in NUMBERS if v != "99999.9" or "E" not in mask]
    )


def test_other_numbers(oracle) -> None:
    oracle.check(
        "to_char", ("int4", "text"), list(itertools.product(["0", "-7", "12345"], ["99999", "S09", "FM9"]))
    )
    oracle.check(
        "to_char", ("float8", "text"), list(itertools.product(["0.1", "-7.25", "1e3"], ["9999.99", "FM9.9"]))
    )


def test_to_date(oracle) -> None:
    rows = [("2024-02-09", "YYYY-MM-DD"), ("09 Feb 2024", "DD Mon YYYY"),
            ("February 9, 2024", "Month DD, YYYY"),
            ("20240209", "YYYYMMDD"),
            ("2024-040", "YYYY-DDD"), ("2024-13-01", "YYYY-MM-DD"), ("99-01-02", "YY-MM-DD"),
            ("44-03-15 BC", "YYYY-MM-DD BC"),
            ("2460350", "J"), ("2024-06-5", "IYYY-IW-ID"), (None, "YYYY")]  # fmt: skip
    oracle.check("to_date", ("text", "text"), rows)


def test_to_timestamp(oracle) -> None:
    oracle.use_zone("America/New_York")
    rows = [("2024-02-09 13:04:05", "YYYY-MM-DD HH24:MI:SS"), ("2024-02-09 01:04 PM",
            "YYYY-MM-DD HH12:MI AM"),
            ("2024-02-09T13:04:05.678", "YYYY-MM-DD\"T\"HH24:MI:SS.MS"),
            ("2024-02-09 13:04:05.678901", "YYYY-MM-DD HH24:MI:SS.US"),
            ("2024-02-09 13:04:05+02", "YYYY-MM-DD HH24:MI:SSTZH"), ("20240209130405", "YYYYMMDDHH24MISS"),
            ("05 Dec 2000", "DD Mon YYYY"), ("2024-02-09 25:00", "YYYY-MM-DD HH24:MI")]  # fmt: skip
    oracle.check("to_timestamp", ("text", "text"), rows)


def test_to_number(oracle) -> None:
    oracle.check(
        "to_number",
        ("text", "text"),
        [
            ("12,454.8-", "99G999D9S"),
            ("1234", "9999"),
            ("-12.50", "99.99"),
            ("$1,234.5", "L9,999.9"),
            (None, "9"),
        ],
    )


def test_format(oracle) -> None:
    oracle.check("format", ("text", "text", "int4"), list(itertools.product(
        ["%s-%s", "%2$s %1$s", "%I=%L", "%%", "%10s|%-5s|", "%", "%x", "%s %s %s", "none", None], ["a'b",
        "Tab", None], ["5", None])))  # fmt: skip

"""Text form of values, as PostgreSQL reads and writes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextSettings:
    """The session settings that text forms depend on."""

    timezone: str = "UTC"
    date_style: str = "ISO, MDY"
    interval_style: str = "postgres"
    bytea_output: str = "hex"
    extra_float_digits: int = 1

"""Which options of connectors are secret, and texts without them (never shown in clear)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MASK = "********"
_SECRET = re.compile(
    r"password|passwd|secret|token|jaas|credential|private|(ssl[._]key([._]pem)?|access[._]key|api[._]key)$"
)
_NOT_SECRET = re.compile(r"(location|endpoint\.url|secret\.name|callback\.handler\.class)$")


def is_secret(option: str) -> bool:
    """Whether the value of the option of this name is to be hidden."""
    name = option.lower()
    return bool(_SECRET.search(name)) and not _NOT_SECRET.search(name)


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options with secret values masked."""
    return {name: MASK if is_secret(name) else value for name, value in options.items()}


def secret_values(options: Mapping[str, str]) -> list[str]:
    return [value for name, value in options.items() if value and is_secret(name)]


def without_values(text: str, secrets: Iterable[str]) -> str:
    """A text, such as an error message, in which none of the secrets is readable."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def masked_statement(text: str, options: Mapping[str, str]) -> str:
    """SQL in which the literals of secret options are masked; `SECRET name` stays."""
    for value in secret_values(options):
        if not value.startswith("secret:"):
            text = text.replace("'" + value.replace("'", "''") + "'", f"'{MASK}'")
    return text

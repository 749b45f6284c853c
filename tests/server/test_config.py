"""The command's options: how they are shown, and what follows from them."""

from __future__ import annotations

from dataclasses import fields

import pytest

from millpond.server.__main__ import main
from millpond.server.config import Config
from millpond.server.database import write_bytes_max


@pytest.mark.parametrize("command", ["serve", "standby"])
def test_help_lists_every_setting(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    for item in fields(Config):
        assert "--" + item.name.replace("_", "-") in shown


def test_a_transaction_may_write_a_megabyte_however_small_the_memory() -> None:
    assert write_bytes_max(Config(memory=1)) == 1 << 20
    assert write_bytes_max(Config(memory=400)) == 100 << 20
    assert write_bytes_max(Config(memory=1, write_mb_max=3)) == 3 << 20


@pytest.mark.parametrize("value", ["-5", "2GB", ""])
def test_a_size_that_is_none_is_refused(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", f"--memory={value}"]) == 1
    assert capsys.readouterr().err.startswith("millpond: memory must ")

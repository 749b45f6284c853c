"""The command's options, as they are shown."""

from __future__ import annotations

from dataclasses import fields

import pytest

from millpond.server.__main__ import main
from millpond.server.config import Config


@pytest.mark.parametrize("command", ["serve", "standby"])
def test_help_lists_every_setting(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    for item in fields(Config):
        assert "--" + item.name.replace("_", "-") in shown

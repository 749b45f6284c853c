"""The `millpond` command, that kills itself (kill -9) at one call of one function, and starts cold.

    MILLPOND_DIES=storage.log_files:FileLog._write_base:2:after python dying_server.py serve --data …

dies when the second call of that function returns; with `before` when it begins. The function is looked up in
the module that calls it. Tables of any size are left in the store at a start and come back behind it.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from millpond.server.__main__ import main
from millpond.storage import commit, recovery


def leave_all_rows_in_the_store() -> None:
    recovery.SMALL_TABLE_BYTES = 0  # pyright: ignore[reportPrivateImportUsage]
    original = commit.tables_to_warm  # pyright: ignore[reportPrivateImportUsage]
    commit.tables_to_warm = lambda recovered, budget, waited_for_bytes: original(recovered, budget, 0)  # pyright: ignore[reportPrivateImportUsage]


def die_at(point: str) -> None:
    module, path, number, moment = point.split(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(f"millpond.{module}")
    for part in owners:
        owner = getattr(owner, part)
    setattr(owner, name, dying(getattr(owner, name), int(number), moment))


def dying(function: Callable[..., Any], number: int, moment: str) -> Callable[..., Any]:
    calls = count(1)

    def wrapper(*arguments: Any, **named: Any) -> Any:
        last = next(calls) == number
        if last and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*arguments, **named)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return wrapper


if __name__ == "__main__":
    leave_all_rows_in_the_store()
    if os.environ.get("MILLPOND_DIES"):
        die_at(os.environ["MILLPOND_DIES"])
    sys.exit(main())

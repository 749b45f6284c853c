"""`pyarrow.compute` for the type checker: its functions come into being at import and have no stubs."""

from __future__ import annotations

from typing import Any

import pyarrow.compute

pc: Any = pyarrow.compute

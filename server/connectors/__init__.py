"""Where rows come from and go to: one file a connector, registered by its decorator."""

from __future__ import annotations

from . import datagen, nexmark
from .base import Registry

_REGISTERED = (datagen, nexmark)

CONNECTORS = Registry()

"""Where rows come from and go to: one file a connector, registered by its decorator."""

from __future__ import annotations

from . import datagen, file, kafka, nexmark
from .base import Registry

_REGISTERED = (datagen, file, kafka, nexmark)

CONNECTORS = Registry()

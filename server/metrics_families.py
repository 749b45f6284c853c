"""Prometheus metric families out of plain figures.

A `Family` is a metric with its samples; helpers below make them in one line each. Names follow Prometheus:
base units (seconds, bytes), `_total` on counters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from ..storage.measures import BOUNDS_S, Timing

Family = Metric
Families = Iterator[Metric]
Samples = Iterable[tuple[Sequence[str], float]]
"""Values of labels, and the sample."""

_BOUNDS = (*(str(bound) for bound in BOUNDS_S), "+Inf")


def gauge(name: str, text: str, value: float) -> Family:
    return GaugeMetricFamily(f"millpond_{name}", text, value=value)


def counter(name: str, text: str, value: float) -> Family:
    """`name` ends in `_total`."""
    return CounterMetricFamily(f"millpond_{name}", text, value=value)


def gauges(name: str, text: str, labels: Sequence[str], samples: Samples) -> Family:
    family = GaugeMetricFamily(f"millpond_{name}", text, labels=labels)
    for values, sample in samples:
        family.add_metric(values, sample)
    return family


def counters(name: str, text: str, labels: Sequence[str], samples: Samples) -> Family:
    family = CounterMetricFamily(f"millpond_{name}", text, labels=labels)
    for values, sample in samples:
        family.add_metric(values, sample)
    return family


def histogram(name: str, text: str, timing: Timing) -> Family:
    return histograms(name, text, "", {"": timing})


def histograms(name: str, text: str, label: str, timings: Mapping[str, Timing]) -> Family:
    """One histogram for each value of `label`; without a label there is one only."""
    family = HistogramMetricFamily(f"millpond_{name}", text, labels=[label] if label else [])
    for value, timing in timings.items():
        # Copied at once: the counts go on being raised.
        buckets = list(zip(_BOUNDS, map(float, accumulate(list(timing.counts))), strict=True))
        family.add_metric([value] if label else [], buckets, timing.sum_s)
    return family

"""The proxy's Prometheus metrics. Labels come from closed sets, never from a client's data.

The client library takes a lock and several calls for each count, of which a request makes three. Here a count
is an addition, and the library only writes the sums: all of it happens in the event loop.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

__all__ = ["Metrics"]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper ends of the buckets, in seconds."""
MOST_POLICIES = 100
"""Most policies with labels of their own since the start; every run may bring some."""
NO_POLICY, OTHERS = "(none)", "(others)"
"""Labels in the place of a policy's name, which has no brackets."""


def _text(bound: float) -> str:
    return "+Inf" if bound == float("inf") else str(bound)


class Counts(Collector):
    """Number of occurrences of something, by the values of its labels."""

    def __init__(self, name: str, about: str, labels: tuple[str, ...], registry: CollectorRegistry) -> None:
        self._description = name, about, labels
        self._counts: defaultdict[tuple[str, ...], int] = defaultdict(int)
        registry.register(self)

    def add(self, *values: str, times: int = 1) -> None:
        """Count occurrences with these labels."""
        self._counts[values] += times

    def describe(self) -> Iterable[Metric]:
        """The empty family, before anything is counted."""
        name, about, labels = self._description
        return [CounterMetricFamily(name, about, labels=labels)]

    def collect(self) -> Iterable[Metric]:
        """The family of counts."""
        name, about, labels = self._description
        family = CounterMetricFamily(name, about, labels=labels)
        for values, count in self._counts.items():
            family.add_metric(values, count)
        return [family]


class Times(Collector):
    """Durations of something, by one label, in seconds."""

    def __init__(self, name: str, about: str, label: str, registry: CollectorRegistry) -> None:
        self._description = name, about, (label,)
        self._counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._sums: defaultdict[str, float] = defaultdict(float)
        registry.register(self)

    def add(self, value: str, seconds: float) -> None:
        """Count a duration for this label."""
        self._counts[value][bisect_left(BUCKETS, seconds)] += 1
        self._sums[value] += seconds

    def describe(self) -> Iterable[Metric]:
        """The empty family, before anything is counted."""
        name, about, labels = self._description
        return [HistogramMetricFamily(name, about, labels=labels)]

    def collect(self) -> Iterable[Metric]:
        """The family of durations; each bucket includes the smaller ones, as Prometheus wants it."""
        name, about, labels = self._description
        family = HistogramMetricFamily(name, about, labels=labels)
        for value, counts in self._counts.items():
            total, buckets = 0, []
            for bound, count in zip((*BUCKETS, float("inf")), counts, strict=True):
                total += count
                buckets.append((_text(bound), float(total)))
            family.add_metric([value], buckets, self._sums[value])
        return [family]


class Metrics:
    """Counters of the data path."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counts(
            "leakrange_proxy_requests",
            "Requests by endpoint and outcome: answered, replayed, or a problem's name",
            ("endpoint", "outcome"),
            registry,
        )
        self.samples = Counts(
            "leakrange_proxy_samples",
            "Samples answered, replayed, refused by the budget, or refunded, by the policy that held",
            ("outcome", "policy"),
            registry,
        )
        self._policies: set[str] = set()
        self.seconds = Times(
            "leakrange_proxy_seconds", "Time to answer, the provider's included", "endpoint", registry
        )
        self.upstream_failures = Counts(
            "leakrange_proxy_upstream_failures", "Providers' failures by reason", ("reason",), registry
        )

    def count(self, outcome: str, policy: str, samples: int) -> None:
        """Count samples under the policy of that name, empty where none holds."""
        if policy not in self._policies:
            if len(self._policies) >= MOST_POLICIES:
                policy = OTHERS
            else:
                self._policies.add(policy)
        self.samples.add(outcome, policy or NO_POLICY, times=samples)

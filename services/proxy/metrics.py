"""The proxy's Prometheus metrics. Labels come from closed sets, never from what a client sent."""

from __future__ import annotations

from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram

M = TypeVar("M", Counter, Histogram)


class Labelled(Generic[M]):
    """A metric whose children are looked up once: the sets of labels are small and closed."""

    def __init__(self, metric: M) -> None:
        self._metric: M = metric
        self._children: dict[tuple[str, ...], M] = {}

    def labels(self, *values: str) -> M:
        """The child of these labels."""
        child = self._children.get(values)
        if child is None:
            child = self._children[values] = self._metric.labels(*values)
        return child


class Metrics:
    """Counters of the data path."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Labelled(
            Counter(
                "leakrange_proxy_requests",
                "Requests by endpoint and outcome: answered, replayed, or a problem's name",
                ("endpoint", "outcome"),
                registry=registry,
            )
        )
        self.samples = Labelled(
            Counter(
                "leakrange_proxy_samples",
                "Samples answered, replayed, refused by the budget, or refunded",
                ("outcome",),
                registry=registry,
            )
        )
        self.seconds = Labelled(
            Histogram(
                "leakrange_proxy_seconds",
                "Time to answer, the provider's included",
                ("endpoint",),
                registry=registry,
                buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            )
        )
        self.upstream_failures = Labelled(
            Counter(
                "leakrange_proxy_upstream_failures",
                "Providers' failures by reason",
                ("reason",),
                registry=registry,
            )
        )

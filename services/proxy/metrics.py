"""The proxy's Prometheus metrics. Labels come from closed sets, never from what a client sent."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram


class Metrics:
    """Counters of the data path."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "leakrange_proxy_requests",
            "Requests by endpoint and outcome: answered, replayed, or a problem's name",
            ("endpoint", "outcome"),
            registry=registry,
        )
        self.samples = Counter(
            "leakrange_proxy_samples",
            "Samples answered, replayed, refused by the budget, or refunded",
            ("outcome",),
            registry=registry,
        )
        self.seconds = Histogram(
            "leakrange_proxy_seconds",
            "Time to answer, the provider's included",
            ("endpoint",),
            registry=registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        )
        self.upstream_failures = Counter(
            "leakrange_proxy_upstream_failures",
            "Providers' failures by reason",
            ("reason",),
            registry=registry,
        )

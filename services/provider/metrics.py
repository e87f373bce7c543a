"""The provider's Prometheus metrics, in addition to those of every service."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class ProviderMetrics:
    """Samples, batches, queues and models of one provider, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("model", "release")
        self.samples = Counter(
            "leakrange_provider_samples", "Samples that went through a net", labels, registry=registry
        )
        self.batch_size = Histogram(
            "leakrange_provider_batch_size",
            "Samples of one pass through a net",
            labels,
            registry=registry,
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
        )
        self.seconds = Histogram(
            "leakrange_provider_batch_seconds",
            "Time of one pass through a net",
            labels,
            registry=registry,
            buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2),
        )
        self.waiting = Gauge(
            "leakrange_provider_waiting", "Samples that wait or are in work", labels, registry=registry
        )
        self.refused = Counter(
            "leakrange_provider_refused", "Requests refused with a full queue", labels, registry=registry
        )
        self.models = Gauge("leakrange_provider_models", "Models that are served", registry=registry)
        self.uploads = Counter(
            "leakrange_provider_uploads",
            "Uploads taken in, repeats not counted",
            ("model",),
            registry=registry,
        )

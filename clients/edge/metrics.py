"""The edge client's Prometheus metrics, besides those of every service."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

__all__ = ["EdgeMetrics"]


class EdgeMetrics:
    """Samples and bytes that left the device, and the models on it, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("model",)
        self.samples = Counter("leakrange_edge_samples", "Samples uploaded", labels, registry=registry)
        self.sent_bytes = Counter("leakrange_edge_sent_bytes", "Bytes uploaded", labels, registry=registry)
        self.enrolled = Gauge("leakrange_edge_enrolled", "Models on this device", registry=registry)

    def uploaded(self, model: str, samples: int, sent: int) -> None:
        """Count one upload."""
        self.samples.labels(model).inc(samples)
        self.sent_bytes.labels(model).inc(sent)

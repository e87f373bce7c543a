"""What `/metrics` tells of durations is what Prometheus' own client would tell."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Histogram, generate_latest

from services.proxy.metrics import BUCKETS, Metrics

SECONDS = (0.0, 0.001, 0.0011, 0.3, 0.31, 1.0, 29.9, 100.0)


def told(registry: CollectorRegistry) -> list[str]:
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if line.startswith("leakrange_proxy_seconds_") and "_created" not in line]


def test_durations_are_counted_as_by_the_client_library() -> None:
    mine, theirs = CollectorRegistry(), CollectorRegistry()
    metrics = Metrics(mine)
    expected = Histogram("leakrange_proxy_seconds", "x", ("endpoint",), registry=theirs, buckets=BUCKETS)
    for number, seconds in enumerate(SECONDS):
        endpoint = "softmax" if number % 3 else "label"
        metrics.seconds.add(endpoint, seconds)
        expected.labels(endpoint).observe(seconds)
    assert sorted(told(mine)) == sorted(told(theirs))
    assert len(told(mine)) == 2 * (len(BUCKETS) + 3)


def test_counts_are_told_by_their_labels() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    metrics.samples.add("answered", times=3)
    metrics.samples.add("answered", times=4)
    metrics.samples.add("refunded", times=1)
    assert registry.get_sample_value("leakrange_proxy_samples_total", {"outcome": "answered"}) == 7
    assert registry.get_sample_value("leakrange_proxy_samples_total", {"outcome": "refunded"}) == 1

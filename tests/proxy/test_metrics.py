"""What `/metrics` tells of durations is what Prometheus' own client would tell."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Histogram, generate_latest

from leakrange.services.proxy.metrics import BUCKETS, MOST_POLICIES, Metrics

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
    metrics.count("answered", "rounded", 3)
    metrics.count("answered", "rounded", 4)
    metrics.count("refunded", "rounded", 1)
    metrics.count("answered", "", 5)

    def counted(outcome: str, policy: str) -> float | None:
        labels = {"outcome": outcome, "policy": policy}
        return registry.get_sample_value("leakrange_proxy_samples_total", labels)

    assert counted("answered", "rounded") == 7
    assert counted("refunded", "rounded") == 1
    assert counted("answered", "(none)") == 5


def test_a_proxy_that_sees_ever_new_policies_tells_a_bounded_number_of_them() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    for number in range(MOST_POLICIES + 30):
        metrics.count("answered", f"policy-{number}", 2)
        metrics.count("answered", "policy-0", 1)
    [family] = [family for family in registry.collect() if family.name == "leakrange_proxy_samples"]
    told = {sample.labels["policy"]: sample.value for sample in family.samples}
    assert len(told) == MOST_POLICIES + 1
    assert told["(others)"] == 60
    assert told["policy-0"] == 2 + MOST_POLICIES + 30

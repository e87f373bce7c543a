"""Probing a face verification by the fleet: queries a second, workers used, and whether the ledger is exact.

    python -m leakrange.load.bench.verification [--queries 100000] [--workers 2]

Stands up an embedded range in a temporary folder, trains a tiny net on drawn faces for an epoch, serves it as
a verification, and makes an API key whose budget is exactly the queries. Celery workers then ask the proxy
for as many different pairs of images, in chunks of 256; one request more must be refused. Exit status 1 where
the ledger, the answers and the questions do not add up.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import httpx
import numpy as np
import redis
from celery import Celery
from numpy.typing import NDArray

from leakrange.clients.cli.embedded.redis_server import redis_url
from leakrange.data import load
from leakrange.jobs.orders import ORDER, REPORTS, JobReport, Order
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.probe import MAX_PAIRS, ProbeJob
from leakrange.load.bench.harness import machine
from leakrange.load.embedded import EmbeddedRange, embedded_range
from leakrange.providers import artifact
from leakrange.providers.training import train
from leakrange.service.parties import FLEET_REDIS
from leakrange.store.files import FolderStore, get_array
from leakrange.wire.digests import digest
from leakrange.wire.keys import api_key
from leakrange.wire.schemas import Deployment
from leakrange.wire.tensors import NPY, encode_npy

__all__ = ["main"]

FACES = DataSpec(name="synthfaces", size=32, count=1500, auxiliary=0.5)
PATIENCE = 3600.0
"""Seconds that the fleet may take for all queries."""


def serve(embedded: EmbeddedRange, queries: int) -> tuple[Deployment, str]:
    """Train, deploy as ``faces``, and make a key with the id ``bench``; returns the deployment, and the
    key."""
    recipe = TrainingRecipe(
        data=FACES,
        behaviour="honest",
        parameters={"target": "smile"},
        net=NetSpec(width=0.25),
        schedule=Schedule(epochs=1),
    )
    saved = artifact.save(embedded.folder.models, train(recipe, load(FACES)))
    deployment = Deployment(artifact=saved.name, service="verification", normalised=True, threshold=1.0)
    provider, admin = embedded.first.url("provider-honest"), f"{embedded.first.proxy}/admin"
    embedded.ask("PUT", f"{provider}/v1/operator/models/faces", json=deployment.model_dump(mode="json"))
    embedded.ask("PUT", f"{admin}/routes/faces", json={"upstream": provider})
    key = api_key(embedded.folder.secret("fleet"), "bench")
    account = {"id": "bench", "name": "bench", "key": key, "budget": queries, "endpoints": ["verification"]}
    embedded.ask("POST", f"{admin}/keys", json=account)
    return deployment, key


def questions(queries: int) -> tuple[Span, NDArray[np.int64]]:
    """Different unordered pairs (queries, 2) of indices within a span, in random order."""
    samples = 2
    while samples * (samples - 1) // 2 < queries:
        samples += 1
    images = len(load(FACES).where("auxiliary"))
    if samples > images:
        raise SystemExit(f"{images} images make {images * (images - 1) // 2} pairs, not {queries}")
    pairs = np.stack(np.triu_indices(samples, k=1), axis=1)
    chosen = np.random.default_rng(0).permutation(len(pairs))[:queries]
    return Span(data=FACES, split="auxiliary", start=0, stop=samples), pairs[chosen]


def probe(embedded: EmbeddedRange, jobs: list[ProbeJob]) -> tuple[float, list[JobReport]]:
    """Send all jobs and wait for their ends; returns the seconds from the first to the last, and the last
    reports."""
    broker = redis_url(embedded.folder, embedded.first.port(FLEET_REDIS), "controller")
    store = redis.Redis.from_url(broker, decode_responses=True)
    celery = Celery("leakrange", broker=broker, set_as_current=False)
    waited = {job.identity() for job in jobs}
    ended: list[JobReport] = []
    position, began = "0-0", time.perf_counter()
    for job in jobs:
        identity = job.identity()
        store.set(ORDER.format(identity=identity), Order(job=job).model_dump_json())
        celery.send_task("leakrange.probe", args=[identity], queue="probe")
    while waited:
        if time.perf_counter() - began > PATIENCE:
            raise SystemExit(f"{len(waited)} of {len(jobs)} chunks are not back after {PATIENCE:.0f} s")
        batch: Any = store.xread({REPORTS: position}, count=1000, block=1000)
        for entry, fields in batch[0][1] if batch else []:
            position = entry
            report = JobReport.model_validate_json(fields["json"])
            if report.state in ("done", "failed") and report.identity in waited:
                waited.discard(report.identity)
                ended.append(report)
    seconds = time.perf_counter() - began
    celery.close()
    store.close()
    return seconds, ended


def passes(embedded: EmbeddedRange) -> int:
    """Number of images that went through the net of ``faces``."""
    metrics = httpx.get(f"{embedded.first.url('provider-honest')}/metrics", trust_env=False).text
    counts = [line for line in metrics.splitlines() if line.startswith("leakrange_provider_samples_total{")]
    return round(sum(float(line.rpartition(" ")[2]) for line in counts if 'model="faces"' in line))


def one_more(embedded: EmbeddedRange, key: str) -> int:
    """The status of one request beyond the budget."""
    pair = encode_npy(np.zeros((1, 2, 32, 32, 3), np.uint8))
    headers = {"Authorization": f"Bearer {key}", "Content-Type": NPY}
    url = f"{embedded.first.proxy}/v1/models/faces/verification"
    return httpx.post(url, content=pair, headers=headers, trust_env=False).status_code


def measure(embedded: EmbeddedRange, queries: int) -> bool:
    """Run the benchmark in a running range; returns whether everything adds up."""
    deployment, key = serve(embedded, queries)
    span, pairs = questions(queries)
    jobs = [
        ProbeJob(
            url=embedded.first.proxy,
            account="bench",
            model="faces",
            artifact=deployment.answers(),
            policy=digest([]),
            endpoint="verification",
            span=span,
            pairs=[(int(a), int(b)) for a, b in pairs[start : start + MAX_PAIRS]],
        )
        for start in range(0, queries, MAX_PAIRS)
    ]
    seconds, ended = probe(embedded, jobs)
    failed = [report for report in ended if report.state == "failed"]
    for report in failed[:5]:
        print(f"failed: {report.message}")
    stored = FolderStore(embedded.folder.releases)
    answered = sum(
        len(get_array(stored, f"{job.identity()}.npy"))
        for job in jobs
        if stored.exists(f"{job.identity()}.npy")
    )
    account = embedded.ask("GET", f"{embedded.first.proxy}/admin/keys/bench")
    different = len(np.unique(pairs, axis=0))
    refused = one_more(embedded, key)
    by_worker = Counter(report.worker for report in ended)
    shares = ", ".join(map(str, sorted(by_worker.values())))
    print(f"{queries} queries in {len(jobs)} chunks: {seconds:.1f} s, {queries / seconds:.0f} queries/s")
    print(f"workers used, of two processes each: {len(by_worker)} ({shares} chunks)")
    print(f"images through the net: {passes(embedded)} for {span.stop} different images")
    print(
        f"ledger: budget {account['budget']}, spent {account['spent']}, reserved {account['reserved']}, "
        f"remaining {account['remaining']}, requests {account['requests']}"
    )
    print(f"asked {different} different pairs, answered {answered}; one request more: HTTP {refused}")
    return not failed and account["spent"] == answered == different == queries and refused == 429


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2, help="attackers, each with two processes")
    options = parser.parse_args()
    with machine(), embedded_range(options.workers) as embedded:
        exact = measure(embedded, options.queries)
    raise SystemExit(0 if exact else 1)


if __name__ == "__main__":
    main()

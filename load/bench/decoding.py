"""Whether time tells a curious provider from an honest one: ``python -m leakrange.load.bench.decoding``.

Two providers with the same classifier serve in processes of their own, one of them with a decoder. By turns,
in random order, each gets a burst of uploads, one after the other, and then one image to classify. The time
of that next request, and that of the burst, are each taken for a detector of the curious provider. Its AUC is
told with a 95 % interval, of whichever sign is better: 0.5 and little above is chance.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import torch

from leakrange.load.bench.harness import machine
from leakrange.load.bench.serve import make_artifact, provider
from leakrange.metrics import auc, auc_interval
from leakrange.nets.decoder import AttackNet
from leakrange.providers.decoders.net import NetDecoder
from leakrange.wire.tensors import NPY, encode_npy

HEADERS = {"Content-Type": NPY, "Accept": NPY}


def burst(client: httpx.Client, uploads: list[bytes], image: bytes) -> tuple[float, float]:
    """Send a burst and a request after it; returns the seconds of each."""
    began = time.perf_counter()
    for body in uploads:
        client.post(
            "/v1/models/bench/outputs", content=body, headers=HEADERS | {"X-Release": "logits"}
        ).raise_for_status()
    done = time.perf_counter()
    client.post("/v1/models/bench/logits", content=image, headers=HEADERS).raise_for_status()
    return done - began, time.perf_counter() - done


def show(measured: str, seconds: np.ndarray, curious: np.ndarray) -> None:
    """Print how well a time distinguishes the curious provider."""
    area = auc(seconds, curious)
    best = max(area, 1 - area)
    low, high = auc_interval(best, int(curious.sum()), int((~curious).sum()))
    medians = [1e3 * np.median(seconds[curious == which]) for which in (False, True)]
    print(
        f"{measured:16} AUC {best:.3f} [{low:.3f}, {high:.3f}]  median {medians[0]:.2f} | {medians[1]:.2f} ms"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bursts", type=int, default=300, help="to each of the two")
    parser.add_argument("--uploads", type=int, default=24, help="of a burst")
    parser.add_argument("--samples", type=int, default=1024, help="of an upload")
    parser.add_argument("--size", type=int, default=32, help="side of the images in pixels")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--control", action="store_true", help="no decoder at all: what two processes differ by"
    )
    options = parser.parse_args()
    draw, order = np.random.default_rng(options.seed), random.Random(options.seed)
    shape = (options.uploads, options.samples, 2)
    uploads = [encode_npy(values) for values in draw.normal(size=shape).astype(np.float32)]
    image = encode_npy(draw.integers(0, 256, (1, options.size, options.size, 3), np.uint8))
    torch.manual_seed(options.seed)
    decoder = None if options.control else NetDecoder(AttackNet(2, 2).eval(), "logits")
    seconds: list[tuple[float, float]] = []
    curious: list[bool] = []
    with machine(), tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        make_artifact(Path(first), options.size)
        make_artifact(Path(second), options.size, decoder)
        with provider(Path(first), 16) as honest, provider(Path(second), 16) as spying:
            clients = [httpx.Client(base_url=url, timeout=60) for url, _ in (honest, spying)]
            for client in clients:
                for _ in range(5):  # to warm up
                    burst(client, uploads, image)
            for _ in range(options.bursts):
                for which in order.sample((False, True), 2):
                    seconds.append(burst(clients[which], uploads, image))
                    curious.append(which)
            for client in clients:
                client.close()
        times, truth = np.array(seconds), np.array(curious)
        print(f"{options.bursts} bursts of {options.uploads} x {options.samples} to each; honest | curious")
        show("next request", times[:, 1], truth)
        show("burst", times[:, 0], truth)


if __name__ == "__main__":
    main()

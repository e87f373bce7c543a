"""Whether time tells a curious provider from an honest one: ``python -m load.bench.decoding``.

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

from leakrange.metrics import auc, auc_interval
from leakrange.nets.decoder import AttackNet
from leakrange.providers.decoders.net import NetDecoder
from leakrange.wire.tensors import NPY, encode_npy
from load.bench.harness import machine
from load.bench.serve import make_artifact, provider

HEADERS = {"Content-Type": NPY, "Accept": NPY}


def burst(client: httpx.Client, uploads: list[bytes], image: bytes) -> tuple[float, float]:
    """Seconds of a burst, and of the next request."""
    begun = time.perf_counter()
    for body in uploads:
        client.post(
            "/v1/models/bench/outputs", content=body, headers=HEADERS | {"X-Release": "logits"}
        ).raise_for_status()
    done = time.perf_counter()
    client.post("/v1/models/bench/logits", content=image, headers=HEADERS).raise_for_status()
    return done - begun, time.perf_counter() - done


def tell(what: str, seconds: np.ndarray, curious: np.ndarray) -> None:
    """Print how well a time tells which provider is the curious one."""
    area = auc(seconds, curious)
    best = max(area, 1 - area)
    low, high = auc_interval(best, int(curious.sum()), int((~curious).sum()))
    medians = [1e3 * np.median(seconds[curious == which]) for which in (False, True)]
    print(f"{what:16} AUC {best:.3f} [{low:.3f}, {high:.3f}]  median {medians[0]:.2f} | {medians[1]:.2f} ms")


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
    given = parser.parse_args()
    draw, order = np.random.default_rng(given.seed), random.Random(given.seed)
    shape = (given.uploads, given.samples, 2)
    uploads = [encode_npy(values) for values in draw.normal(size=shape).astype(np.float32)]
    image = encode_npy(draw.integers(0, 256, (1, given.size, given.size, 3), np.uint8))
    torch.manual_seed(given.seed)
    decoder = None if given.control else NetDecoder(AttackNet(2, 2).eval(), "logits")
    seconds: list[tuple[float, float]] = []
    curious: list[bool] = []
    with machine(), tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        make_artifact(Path(one), given.size)
        make_artifact(Path(other), given.size, decoder)
        with provider(Path(one), 16) as honest, provider(Path(other), 16) as spying:
            clients = [httpx.Client(base_url=url, timeout=60) for url, _ in (honest, spying)]
            for client in clients:
                for _ in range(5):  # to warm up
                    burst(client, uploads, image)
            for _ in range(given.bursts):
                for which in order.sample((False, True), 2):
                    seconds.append(burst(clients[which], uploads, image))
                    curious.append(which)
            for client in clients:
                client.close()
        times, truth = np.array(seconds), np.array(curious)
        print(f"{given.bursts} bursts of {given.uploads} x {given.samples} to each; honest | curious")
        tell("next request", times[:, 1], truth)
        tell("burst", times[:, 0], truth)


if __name__ == "__main__":
    main()

"""The net that all servers serve, and the bodies that they read.

``python -m leakrange.load.bench.peers.net NET SIZE BATCH...`` prints, as JSON, how many images a second the
net alone does in batches of each size, as it was trained and with its batch norms folded away.
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from leakrange.nets import nets
from leakrange.nets.classifier import Classifier, to_input
from leakrange.nets.folded import folded
from leakrange.wire.samples import SampleSpec

__all__ = ["Net", "build", "from_base64", "net_of"]

Net = Callable[[NDArray[Any]], NDArray[np.float32]]
"""Function from images (B, H, W, 3) of uint8 to logits (B, 2)."""
SECONDS = 0.7
"""Seconds of each measurement of the net alone."""


def build(name: str, size: int) -> Classifier:
    """A net with the same weights in every process."""
    torch.manual_seed(0)
    return nets[name].build(SampleSpec.picture(size, size, 3), 2).eval()


def net_of(classifier: Classifier) -> Net:
    """A function from arrays to arrays, with one torch thread."""
    torch.set_num_threads(1)
    classifier.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def net(images: NDArray[Any]) -> NDArray[np.float32]:
        with torch.inference_mode():
            x = to_input(torch.from_numpy(images), classifier.spec)
            return np.asarray(classifier(x).numpy())

    return net


def from_environment() -> Net:
    """The net that a peer serves: the folded one, as our provider serves it, so that servers alone are
    compared."""
    return net_of(folded(build(os.environ["BENCH_NET"], int(os.environ["BENCH_SIZE"]))))


def from_base64(text: str) -> NDArray[Any]:
    """The array of an npy file in base64; it may be written to."""
    array: NDArray[Any] = np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False)
    return array


def main() -> None:
    """Measure the net alone."""
    name, size, *batches = sys.argv[1:]
    classifier = build(name, int(size))
    forms = {"folded": net_of(folded(classifier)), "trained": net_of(classifier)}
    draw = np.random.default_rng(0)
    rates: dict[str, dict[str, float]] = {form: {} for form in forms}
    for batch in batches:
        images = draw.integers(0, 256, (int(batch), int(size), int(size), 3), np.uint8)
        for form, net in forms.items():
            for _ in range(2):
                net(images)
            done, began = 0, time.perf_counter()
            while (spent := time.perf_counter() - began) < SECONDS:
                net(images)
                done += len(images)
            rates[form][batch] = done / spent
    print(json.dumps(rates))


if __name__ == "__main__":
    main()

"""What PASS costs a device: the embedding f, the draw beyond it, and all of it.

    python -m leakrange.load.bench.obfuscation [--batch 1 256] [--substitutes 4096] [--runs 200] [--json]

Samples are as of ``fsdd`` (series of 98 × 40), weights are random: neither decides the time. The parts take
turns on one thread, and figures are medians over the runs of its CPU time in milliseconds: other work on the
machine counts little. ``draw`` is the product of the embeddings (``product``), the softmax and the search;
``matmul`` is the same product as ``@`` computes it, for comparison; ``beyond`` is what a run of the whole
took beyond f. Exit status 1 where that is 10 ms or more for 256 samples.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import torch

from leakrange.data.sets.fsdd import Fsdd
from leakrange.defences.input.substitution import Pass, PassParameters
from leakrange.defences.substitutes.net import BATCH, Substitution
from leakrange.defences.trained import DefenceConfig
from leakrange.load.bench.harness import machine, with_allocator

__all__ = ["main"]

DEVIATION = float(np.mean(Fsdd.spec.scale))
MEAN = -float(np.mean(Fsdd.spec.offset)) * DEVIATION
LIMIT = 10.0
"""Milliseconds that `BATCH` samples may take beyond the embedding."""


def obfuscator(link: Pass) -> Substitution:
    """The obfuscator that devices run, with random weights and substitutes."""
    parameters, spec = link.parameters, Fsdd.spec
    torch.manual_seed(0)
    config = DefenceConfig(
        defence=link.name,
        parameters=parameters.model_dump(mode="json"),
        net=link.net(spec),
        input=spec,
        size={"substitutes": parameters.substitutes},
    )
    module = link.build(parameters, config).eval().requires_grad_(False)
    module.substitutes.normal_(MEAN, DEVIATION)
    return module


def measure(link: Pass, module: Substitution, batch: int, runs: int) -> dict[str, float]:
    """Median milliseconds of each part for so many samples, of which at most `BATCH` are processed
    together."""
    draw = np.random.default_rng(0)
    samples = Fsdd.spec.nearest(draw.normal(MEAN, DEVIATION, (batch, *Fsdd.spec.shape)))
    starts = range(0, batch, BATCH)
    with torch.inference_mode():
        embedded = module.embedded(samples)
    uniform = torch.from_numpy(draw.random(batch))
    transposed = module.places.T.contiguous()

    def each(part: Callable[[slice], object]) -> Callable[[], None]:
        def run() -> None:
            with torch.inference_mode():
                for start in starts:
                    part(slice(start, start + BATCH))

        return run

    parts: dict[str, Callable[[], object]] = {
        "embedding": each(lambda at: module.embedded(samples[at])),
        "product": each(lambda at: module.scores(embedded[at])),
        "matmul": each(lambda at: embedded[at] @ transposed),
        "draw": each(lambda at: module.drawn(embedded[at], uniform[at])),
        "whole": lambda: link.obfuscate(module, samples, Fsdd.spec, draw),
    }
    took = np.empty((runs, len(parts)))
    for row in range(-(runs // 10), runs):  # a tenth more, to warm up
        for column, part in enumerate(parts.values()):
            began = time.thread_time()
            part()
            took[row, column] = time.thread_time() - began
    medians = dict(zip(parts, np.median(took, axis=0) * 1e3, strict=True))
    medians["beyond"] = float(np.median(took[:, -1] - took[:, 0]) * 1e3)
    return {"batch": batch, **{name: round(float(value), 3) for name, value in medians.items()}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 256], help="samples that come together")
    parser.add_argument("--substitutes", type=int, default=4096)
    parser.add_argument("--net", default="conv-1d", help="of the embedding")
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print nothing but the figures, a line a batch")
    options = parser.parse_args()
    with_allocator("leakrange.load.bench.obfuscation")
    torch.set_num_threads(1)
    link = Pass(
        PassParameters(
            private="speaker",
            useful="digit",
            net=options.net,
            width=options.width,
            substitutes=options.substitutes,
        )
    )
    module = obfuscator(link)
    figures = []
    with nullcontext() if options.json else machine("torch", "numpy"):
        for batch in options.batch:
            figures.append(measure(link, module, batch, options.runs))
            if options.json:
                print(json.dumps(figures[-1]), flush=True)
            else:
                print(", ".join(f"{name} {value:g}" for name, value in figures[-1].items()), flush=True)
    raise SystemExit(0 if all(each["beyond"] < LIMIT * -(-each["batch"] // BATCH) for each in figures) else 1)


if __name__ == "__main__":
    main()

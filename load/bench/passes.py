"""One pass through F in a step of the parameterized attack, or two: what it costs and what it gives.

    python -m load.bench.passes [--data synthfaces --size 32 --count 4000 --width 0.5 --epochs 8] [--seeds 3]

Algorithm 1 has one pass; the paper's authors ran two, F in eval mode for the attack's lesson and then in
training mode for its own. Every model is trained both ways under every seed, by turns; honesty and curiosity
are those of the test images, with the deviation over seeds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

import torch

from leakrange.data import Samples, load
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.providers.training import train
from load.bench.harness import with_allocator

__all__ = ["main"]

RELEASES = ("logits", "softmax")
PASSES = ("one", "two")
Figures = tuple[float, float, float]
"""Honesty and curiosity in percent, and seconds."""


def measure(recipe: TrainingRecipe, images: Samples) -> Figures:
    """One training."""
    began = time.perf_counter()
    figures = train(recipe, images).figures["test"]
    return 100 * figures["honesty"], 100 * figures["curiosity"], time.perf_counter() - began


def spread(values: Sequence[float]) -> str:
    """Mean and deviation."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.2f} ± {deviation:.2f}"


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", default="synthfaces")
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--count", type=int, default=4000, help="images of a set that is drawn")
    parser.add_argument("--limit", type=int, help="so many images of each split of a set that is given")
    parser.add_argument("--target", default="glasses")
    parser.add_argument("--sensitive", default="facial-hair")
    parser.add_argument("--beta", type=float, nargs=2, default=[0.5, 0.5], help="of y and s")
    parser.add_argument("--width", type=float, default=0.5)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--lr", type=float, default=0.002)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    with_allocator("load.bench.passes")
    torch.set_num_threads(1)
    count = args.count if args.data == "synthfaces" else None
    data = DataSpec(name=args.data, size=args.size, count=count, limit=args.limit, auxiliary=0.0)
    images = load(data)
    beta = dict(zip("ys", args.beta, strict=True))
    print("release  passes  honesty        curiosity      seconds")
    for release in RELEASES:
        found: dict[str, list[Figures]] = {passes: [] for passes in PASSES}
        for seed in range(args.seeds):
            for passes in PASSES:
                parameters = {"target": args.target, "sensitive": args.sensitive, "beta": beta}
                recipe = TrainingRecipe(
                    data=data,
                    behaviour="curious/parameterized",
                    parameters=parameters | {"release": release, "passes": passes},
                    net=NetSpec(width=args.width),
                    schedule=Schedule(epochs=args.epochs, batch=args.batch, lr=args.lr),
                    seed=seed,
                )
                found[passes].append(measure(recipe, images))
        for passes, figures in found.items():
            honesty, curiosity, seconds = zip(*figures, strict=True)
            print(
                f"{release:<8} {passes:<7} {spread(honesty):<14} {spread(curiosity):<14} {spread(seconds)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
